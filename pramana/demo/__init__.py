"""The demonstration: several owners and a miner as real processes, held against the truth.

It starts the same commands that people do.
"""

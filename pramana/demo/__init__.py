"""The demonstration: several owners and a miner as real processes, compared with the truth.

It starts the same commands that people do.
"""

"""The demonstration: several owners and a miner as real processes, compared with the truth.

The demonstration starts the same commands as users.
"""

"""The demonstration: several owners and a miner as real processes, compared with the truth.

The demonstration runs the commands that users run.
"""

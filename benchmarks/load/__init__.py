"""Owners who upload to a miner in a process of its own, beside a plain server that only stores.

`make load` prints the ratios. No time alone is a result: each is set beside another of the same
run on the same machine.
"""

"""What both sides share: the mathematics of randomized data, and the contract between owners and
miner.

Nothing here opens a socket or a database, reads a clock or draws a random number that it was not
given the generator for.
"""

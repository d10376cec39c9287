"""Compiled loops, loaded only where there is enough to do; each has a numpy path of the same bits.

They know arrays and numbers: what is counted, and for whom, is up to the rooms above.
"""

"""Differentially private trees: how their splits are chosen and their counts noised.

Each comes with the epsilon that bounds what the whole tree tells of a record. The noise itself is
an argument: owners draw it by a library made for it, simulations by numpy's generator.
"""

"""Differentially private trees: how their splits are chosen and their counts noised.

Each comes with the epsilon that bounds what the whole tree tells of a record.
"""

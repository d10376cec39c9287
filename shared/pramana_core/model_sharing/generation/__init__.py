"""Pseudo-data: records drawn from the paths of a tree, or drawn evenly and labelled by it.

These are PGEN and BASEGEN of Sharkey's section 2.2 and 4, how many records each path gives, and
what values they take where the path says nothing.

One tree at a time: what is made of several owners' trees is in `combination`.
"""

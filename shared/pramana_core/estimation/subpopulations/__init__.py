"""Counts among the records that have given categories, with the joint errors of all their cells.

Trees ask these of the marginals; how a tree grows lives in `pramana_core.learn.tree`.
"""

"""What leaving costs: each column's loss, corrected records, columns under two names, the whole
study.

Bounds come from `pramana_core.privacy`; here they are added up for one site, as data and as words.
"""

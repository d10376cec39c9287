"""Designing plans at the custodian's site: the variables of several owners, and plans as text.

The search for a design is in `pramana_core.design`.
"""

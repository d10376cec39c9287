"""The custodian's side of designs: variables of several owners, and the plan as text.

The search for a design is `pramana_core.design`.
"""

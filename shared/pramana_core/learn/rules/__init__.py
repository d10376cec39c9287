"""Frequent itemsets and association rules, with errors and verdicts.

`pramana_core.estimation` estimates the supports.
"""

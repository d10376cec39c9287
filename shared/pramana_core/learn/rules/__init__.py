"""Frequent itemsets and association rules, with errors and verdicts.

The package `pramana_core.estimation` estimates the supports.
"""

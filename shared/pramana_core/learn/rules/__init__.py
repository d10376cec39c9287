"""Frequent itemsets and association rules, with errors and verdicts.

Supports are estimated in `pramana_core.estimation`.
"""

"""Frequent itemsets and association rules, with errors, verdicts and consistent estimates.

Supports are estimated in `pramana_core.estimation`.
"""

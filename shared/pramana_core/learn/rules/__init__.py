"""Frequent itemsets and association rules, with errors, verdicts and consistent estimates.

Supports are estimated in `pramana_core.estimation.supports`; tables and pictures of rules are in
`exchange`.
"""

"""Frequent itemsets and association rules, with errors, verdicts and consistent estimates.

Supports are estimated in `shared.estimation.supports`; tables and pictures of rules are in
`exchange`.
"""

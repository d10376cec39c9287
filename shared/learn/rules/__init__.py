"""Frequent itemsets and association rules from marginals, with their errors (Ma 7.1; FRAPP 6)."""

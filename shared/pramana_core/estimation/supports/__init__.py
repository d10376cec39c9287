"""How many records have sets of items, estimated from tables or from reports where blocks mix.

Which itemsets are worth estimating is decided in `pramana_core.learn.rules`.
"""

"""Data publishing by full-domain generalization: the rival that shared trees are measured beside.

Every attribute is generalized to one level of its hierarchy for all records alike until the
records that look the same meet a requirement (Machanavajjhala et al. 2006, as Sharkey's LD).
Nothing here is released by an owner; simulations and experiments compare with it, and the library
that others would use runs in `pramana.simulate.publishing`.
"""

"""From where on a belief is worth a word, when nothing else is asked for."""

ALARMING = 0.95
"""A posterior from which on a sensitive variable is warned of: next to a proof."""

POSTERIOR = 0.5
"""rho_2: the posterior below which the report says which priors stay."""

BELIEF = 0.95
"""The belief whose largest fall is reported."""

THRESHOLD = 0.01
"""A category with a smaller posterior is not counted as plausible (Ma 8 (b))."""

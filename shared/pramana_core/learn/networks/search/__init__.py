"""Finding a structure: scores known ever better, moves between structures, and what each link is
worth.

The likelihoods that scores rest on are computed in `pramana_core.estimation.evidence`.
"""

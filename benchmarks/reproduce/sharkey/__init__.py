"""Sharkey et al. (2008): shared decision trees, and what a miner learns from their pseudo-data.

Folds, owners and methods are those of `pramana.simulate`; what trees and pseudo-data
are is in `pramana_core.model_sharing`. Levels that another tool published the tables at are kept in
`published.json`.
"""

"""Tables of estimated counts with their errors: by moments, by likelihood, or of a model.

Who chooses among the estimators lives in `pramana_core.estimation.estimated`, how counts are found
in `core` and `pooled`.
"""

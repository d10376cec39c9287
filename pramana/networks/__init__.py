"""What a Bayesian network takes and gives: structures, answers, files, other libraries' models.

The estimator itself is in `pramana.estimators`; learning and inference are in `pramana_core.learn`.
"""

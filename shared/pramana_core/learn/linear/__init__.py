"""Linear classifiers from estimated counts: least squares, logistic loss, perceptron (Ma 6, 8).

`pramana_core.estimation` estimates the counts; `pramana_core.learn.prediction` reads the models.
"""

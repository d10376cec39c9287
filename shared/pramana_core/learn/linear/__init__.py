"""Linear classifiers from counts, by least squares, logistic loss or a perceptron (Ma 6, 8).

`pramana_core.estimation` estimates the counts. `pramana_core.learn.prediction` reads the models.
"""

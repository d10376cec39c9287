"""Linear classifiers from estimated counts: least squares, logistic loss, perceptron (Ma 6, 8).

Counts are estimated in `pramana_core.estimation`, and the model is read for predictions by
`pramana_core.learn.prediction`.
"""

"""Linear classifiers from estimated counts: least squares, logistic loss, perceptron (Ma 6, 8).

Counts are estimated in `shared.estimation`, and the model is read for predictions by
`shared.learn.prediction`.
"""

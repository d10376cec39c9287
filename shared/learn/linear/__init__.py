"""Linear classifiers from estimated counts: least squares, logistic loss, perceptron (Ma 6, 8)."""

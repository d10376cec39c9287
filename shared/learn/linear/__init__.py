"""Linear classifiers from estimated counts: least squares, logistic loss, perceptron (Ma 6, 8)."""

from shared.learn.linear.columns import Column
from shared.learn.linear.documents import linear_json, read_linear_json, write_linear_json
from shared.learn.linear.drawing import draw_weights
from shared.learn.linear.fitting import CELLS, learn_linear
from shared.learn.linear.model import Accuracy, LinearClassifier, Plane, Weight
from shared.learn.linear.options import LinearOptions

__all__ = [
    "CELLS",
    "Accuracy",
    "Column",
    "LinearClassifier",
    "LinearOptions",
    "Plane",
    "Weight",
    "draw_weights",
    "learn_linear",
    "linear_json",
    "read_linear_json",
    "write_linear_json",
]

"""How a Bayesian network classifier is put into words."""

from __future__ import annotations

from pramana_core.learn.bayes_classifier.model import BayesClassifier, ChosenModel

NAMES: dict[ChosenModel, str] = {
    "naive-bayes": "naive Bayes",
    "tan": "tree-augmented naive Bayes",
    "kdb": "k-dependence Bayesian classifier",
}


def summary(model: BayesClassifier) -> str:
    """Return what a classifier is, in a line."""
    chosen = " (chosen)" if model.options.model == "auto" else ""
    repeated = (
        f"; what they tell counts {model.weight:.2f} times, for they repeat each other"
        if model.weight < 1
        else ""
    )
    return (
        f"{NAMES[model.model]}{chosen} of {model.target.name}: {len(model.inputs)} attributes,"
        f" {len(model.links)} links between them, {model.records:,} records{repeated}"
    )


def beside(parents: tuple[str, ...]) -> str:
    """Return on what an attribute depends besides the class; empty if on nothing."""
    return f" given {', '.join(parents)}" if parents else ""

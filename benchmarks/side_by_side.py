"""The accuracies of docs/side-by-side.md: whom one trusts, and what it costs, at equal epsilon.

    .venv/bin/python -m benchmarks.side_by_side titanic.csv
    .venv-peers/bin/python benchmarks/side_by_side.py titanic.csv

The first writes the table and randomizes each record by a plan; the second, where diffprivlib is
installed, learns from all true records and adds noise to the model. Both hold out the same records.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

GAMMAS = (5, 19, 100)
RUNS = 20
HOLDOUT = 0.3
TARGET = "survived"

Measure = Callable[[np.ndarray, np.ndarray, int, int], Mapping[str, float]]
"""Learns from some rows, is tried on others, at a gamma, in a run; returns shares by learner."""


def ours(path: Path) -> Measure:
    """Write the table; return what we reach."""
    import pramana as pm

    people = pm.example("titanic")
    people.to_csv(path, index=False)
    domain = pm.domain(people, pm.observed_categories(people))

    @cache
    def plan_for(gamma: int, records: int) -> pm.Plan:
        return pm.design(domain, records, gamma=gamma, learn="classifier", target=TARGET).plan

    def measure(train: np.ndarray, test: np.ndarray, gamma: int, run: int) -> Mapping[str, float]:
        learned, plan = people.iloc[train], plan_for(gamma, len(train))
        keys = pm.Keys.for_experiments(run)
        counts = pm.estimate(pm.randomize(learned, plan, keys, record_id=learned.index))
        models = (pm.NaiveBayes(TARGET), pm.LinearClassifier(TARGET), pm.DecisionTree(TARGET))
        names = ("naive Bayes", "linear", "tree")
        return {
            name: model.fit(counts).score(people.iloc[test])
            for name, model in zip(names, models, strict=True)
        }

    return measure


def theirs(path: Path) -> Measure:
    """Return what diffprivlib reaches."""
    from diffprivlib.models import DecisionTreeClassifier, GaussianNB, LogisticRegression
    from sklearn.preprocessing import OneHotEncoder

    rows = np.loadtxt(path, delimiter=",", dtype=str, skiprows=1)
    features, classes = rows[:, :-1], rows[:, -1]
    columns = OneHotEncoder(sparse_output=False).fit_transform(features)
    norm = features.shape[1] ** 0.5  # one 1 for each column

    def measure(train: np.ndarray, test: np.ndarray, gamma: int, run: int) -> Mapping[str, float]:
        epsilon = float(np.log(gamma))
        models = {
            "naive Bayes": GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=run),
            "linear": LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=run),
            "tree": DecisionTreeClassifier(
                epsilon=epsilon, bounds=(0, 1), classes=["no", "yes"], random_state=run
            ),
        }
        return {
            name: float(
                np.mean(
                    m.fit(columns[train], classes[train]).predict(columns[test]) == classes[test]
                )
            )
            for name, m in models.items()
        }

    return measure


def main(path: Path) -> None:
    """Print the mean accuracies and their standard deviations, in percent."""
    measure = (theirs if importlib.util.find_spec("diffprivlib") else ours)(path)
    records = len(path.read_text(encoding="utf-8").splitlines()) - 1
    held = round(HOLDOUT * records)
    for gamma in GAMMAS:
        found: dict[str, list[float]] = {}
        for run in range(RUNS):
            order = np.random.default_rng([1, run]).permutation(records)
            for name, share in measure(order[held:], order[:held], gamma, run).items():
                found.setdefault(name, []).append(100 * share)
        for name, shares in found.items():
            print(f"gamma {gamma:3} {name:12} {np.mean(shares):.1f} ± {np.std(shares):.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

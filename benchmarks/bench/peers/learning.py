"""Networks by pyAgrum and PyBNesian, itemsets by pyfim, trees by scikit-learn: of clean records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from benchmarks.bench.peers import columns, threads

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def _words(folder: str) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: codes.astype(str) for name, codes in columns(folder).items()})


def pyagrum_k2(
    folder: str, order: Sequence[str], parents: int, *, loading: bool
) -> Callable[[], object]:
    """Learn by K2; its reading of the data frame counts only if `loading`."""
    import pyagrum

    frame = _words(folder)

    def learner() -> pyagrum.BNLearner:
        made = pyagrum.BNLearner(frame)
        made.setNumberOfThreads(threads())
        made.useK2([frame.columns.get_loc(name) for name in order])
        made.setMaxIndegree(parents)
        return made

    if loading:
        return lambda: learner().learnDAG()
    ready = learner()
    return lambda: ready.learnDAG()


def pybnesian_climb(folder: str, parents: int) -> Callable[[], object]:
    """Climb by BIC over all links."""
    import pybnesian

    frame = _words(folder).astype("category")
    start = pybnesian.DiscreteBN(list(frame.columns))
    return lambda: pybnesian.hc(
        frame, start=start, operators=["arcs"], score="bic", max_indegree=parents
    )


def pyfim_itemsets(folder: str, support: float) -> Callable[[], object]:
    """Find itemsets (a share of records) by fpgrowth, in distinct records with their numbers."""
    import fim
    import numpy as np

    table = np.stack(list(columns(folder).values()), axis=1)
    rows, counts = np.unique(table, axis=0, return_counts=True)
    weighted = {
        tuple(f"{column}={code}" for column, code in enumerate(row)): count
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    }
    return lambda: fim.fpgrowth(weighted, supp=100 * support, zmin=1, report="a")


def sklearn_tree(folder: str, target: str, *, distinct: bool) -> Callable[[], object]:
    """Fit an entropy tree to one-hot records, or to distinct ones with their numbers."""
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    found = columns(folder)
    names = [name for name in found if name != target]
    table = np.stack([*(found[name] for name in names), found[target]], axis=1)
    weights = None
    if distinct:
        table, weights = np.unique(table, axis=0, return_counts=True)
    one_hot = np.hstack([_indicators(column) for column in table.T[:-1]])
    classes = table[:, -1]
    return lambda: DecisionTreeClassifier(criterion="entropy", random_state=0).fit(
        one_hot, classes, sample_weight=weights
    )


def _indicators(column: np.ndarray) -> np.ndarray:
    import numpy as np

    return (column[:, None] == np.unique(column)).astype(np.float32)

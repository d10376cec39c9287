"""Other libraries doing the same work, and the process that runs them in `.venv-bench`.

Each function takes the arguments of the comparison, loads and converts the data, and returns a
function that does the work once and may return a number, such as an error. Pramana is not installed
in `.venv-bench`. The process answers requests to prepare and to run, one JSON object per line;
output of libraries goes to standard error.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def columns(folder: str) -> dict[str, np.ndarray]:
    """Return the arrays that `Bench.saved` wrote, by name, read into memory."""
    import numpy as np

    return {path.stem: np.load(path) for path in sorted(Path(folder).glob("*.npy"))}


def duckdb_counts(folder: str, names: Sequence[str]) -> Callable[[], object]:
    """Count the cells of a table with GROUP BY in DuckDB."""
    import duckdb
    import pandas as pd

    database = duckdb.connect(config={"threads": 1})
    database.register("given", pd.DataFrame(columns(folder)))
    database.execute("create table records as select * from given")
    database.unregister("given")
    listed = ", ".join(names)
    query = f"select {listed}, count(*) from records group by {listed}"  # noqa: S608 our own names
    return lambda: database.execute(query).fetchall()


def pybnesian_climb(folder: str, parents: int) -> Callable[[], object]:
    """Learn a network by hill climbing with BIC over all links."""
    import pandas as pd
    import pybnesian

    frame = pd.DataFrame(columns(folder)).astype(str).astype("category")
    start = pybnesian.DiscreteBN(list(frame.columns))
    return lambda: pybnesian.hc(
        frame, start=start, operators=["arcs"], score="bic", max_indegree=parents
    )


def pyfim_itemsets(folder: str, support: float) -> Callable[[], object]:
    """Find itemsets of at least `support`, a share of the records, by fpgrowth."""
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
    """Fit an entropy tree to one-hot records; with `distinct`, to distinct records with counts."""
    import numpy as np
    from sklearn.tree import DecisionTreeClassifier

    found = columns(folder)
    names = [name for name in found if name != target]
    table = np.stack([*(found[name] for name in names), found[target]], axis=1)
    weights = None
    if distinct:
        table, weights = np.unique(table, axis=0, return_counts=True)
    one_hot = np.hstack([column[:, None] == np.unique(column) for column in table.T[:-1]])
    classes = table[:, -1]
    return lambda: DecisionTreeClassifier(criterion="entropy", random_state=0).fit(
        one_hot.astype(np.float32), classes, sample_weight=weights
    )


def pure_ldp(folder: str, name: str, categories: int, gamma: float) -> Callable[[], object]:
    """Randomize every code of a column by direct encoding at epsilon = log gamma."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    codes = columns(folder)[name].tolist()
    client = DEClient(math.log(gamma), categories, index_mapper=lambda code: code)
    return lambda: [client.privatise(code) for code in codes]


def misplaced(counts: np.ndarray, codes: np.ndarray) -> float:
    """Return the percentage of records that estimated counts of a column's categories misplace.

    Negative counts become zero, and the counts are scaled to the number of records.
    """
    import numpy as np

    shares = np.maximum(counts, 0) / np.maximum(counts, 0).sum()
    truth = np.bincount(codes, minlength=len(shares)) / len(codes)
    return float(50 * np.abs(shares - truth).sum())


def multi_freq_ldpy(folder: str, name: str, categories: int, gamma: float) -> Callable[[], float]:
    """Randomize a column by subset selection at epsilon = log gamma, and estimate its counts."""
    import numpy as np
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    codes, epsilon = columns(folder)[name].astype(int), math.log(gamma)

    def run() -> float:
        reports = [SS_Client(code, categories, epsilon) for code in codes.tolist()]
        return misplaced(SS_Aggregator_MI(np.array(reports), categories, epsilon), codes)

    return run


def pure_ldp_unary(folder: str, name: str, categories: int, gamma: float) -> Callable[[], float]:
    """Do the same by optimized unary encoding; pure-ldp has no subset selection."""
    import numpy as np
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    codes, epsilon = columns(folder)[name].astype(int), math.log(gamma)
    how = {"use_oue": True, "index_mapper": lambda code: code}
    client = UEClient(epsilon, categories, **how)

    def run() -> float:
        server = UEServer(epsilon, categories, **how)
        for code in codes.tolist():
            server.aggregate(client.privatise(code))
        counts = [server.estimate(code, suppress_warnings=True) for code in range(categories)]
        return misplaced(np.array(counts), codes)

    return run


def diffprivlib_bayes(folder: str, epsilon: float, seed: int) -> Callable[[], float]:
    """Return the accuracy of a naive Bayes classifier that a trusted curator learns privately.

    It is Gaussian, on indicators of the categories, whose range is 0 to 1.
    """
    import numpy as np
    from sklearn.tree import _tree

    # diffprivlib 0.6.6 imports these names, which scikit-learn no longer has, for its forests.
    vars(_tree).update(DOUBLE=np.float64, DTYPE=np.float32)
    from diffprivlib.models import GaussianNB

    given = columns(folder)
    model = GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=seed)
    return lambda: float(
        model.fit(given["train"], given["classes"]).score(given["test"], given["truth"])
    )


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run: Callable[[], object] | None = None
    for line in sys.stdin:
        request = json.loads(line)
        figures: dict[str, object] = {}
        try:
            if "prepare" in request:
                prepare = getattr(sys.modules[__name__], request["prepare"])
                run = prepare(**request["arguments"])
            elif run is not None:
                began, used = time.perf_counter(), time.process_time()
                result = run()
                figures["result"] = result if isinstance(result, float) else math.nan
                figures["elapsed"] = time.perf_counter() - began
                figures["processor"] = time.process_time() - used
        except Exception as error:  # noqa: BLE001 every failure is answered
            figures["failed"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(figures) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

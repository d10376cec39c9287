"""Other libraries doing the same work, and the process that runs them in `.venv-bench`.

Each function takes the arguments of the comparison, loads and converts the data, and returns a
function that does the work once. Pramana is not installed in `.venv-bench`. The process answers
requests to prepare and to run, one JSON object per line; output of libraries goes to standard
error.
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
                run()
                figures["elapsed"] = time.perf_counter() - began
                figures["processor"] = time.process_time() - used
        except Exception as error:  # noqa: BLE001 every failure is answered
            figures["failed"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(figures) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

"""What other tools reach at the same epsilon; runs where they are installed, apart from ours.

    python peers.py TABLES.npz RESULTS.json

Takes the tables that `tables.py` writes. `make whole-record-peers` installs the tools, pinned, into
an environment of their own: they need older libraries than ours.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np
from diffprivlib.models import GaussianNB
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_ADP_Aggregator_MI, RSpFD_ADP_Client
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_ADP_Aggregator_MI, SMP_ADP_Client

GAMMAS = (5, 19, 100)
RUNS = 5
HOLDOUT = 0.3
MARGINS_OF = "adult"


def indicators(codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return a column of 0 and 1 for each category of each column."""
    return np.hstack([np.eye(k)[column] for column, k in zip(codes.T, sizes, strict=True)])


def naive_bayes(codes: np.ndarray, sizes: np.ndarray, target: int, epsilon: float) -> float:
    """Return the mean accuracy of diffprivlib's naive Bayes, fitted by whom all records trust."""
    columns = [i for i in range(codes.shape[1]) if i != target]
    features, classes = indicators(codes[:, columns], sizes[columns]), codes[:, target]
    right = []
    for run in range(RUNS):
        order = np.random.default_rng([1, run]).permutation(len(codes))
        held = round(HOLDOUT * len(codes))
        test, train = order[:held], order[held:]
        model = GaussianNB(epsilon=epsilon, bounds=(0, 1), random_state=run)
        model.fit(features[train], classes[train])
        right.append(np.mean(model.predict(features[test]) == classes[test]))
    return float(np.mean(right))


def margins(codes: np.ndarray, sizes: np.ndarray, epsilon: float) -> dict[str, float]:
    """Return the mean absolute error of categories' shares, by protocol."""
    wide, width = list(map(int, sizes)), len(sizes)
    truth = np.concatenate(
        [np.bincount(c, minlength=k) / len(c) for c, k in zip(codes.T, wide, strict=True)]
    )
    ways = {
        "SMP (adaptive)": (SMP_ADP_Client, SMP_ADP_Aggregator_MI),
        "RS+FD (adaptive)": (RSpFD_ADP_Client, RSpFD_ADP_Aggregator_MI),
    }
    errors = {}
    for name, (client, aggregate) in ways.items():
        found = []
        for run in range(RUNS):
            np.random.seed(run)
            reports = [client(record, wide, width, epsilon) for record in codes]
            made = np.concatenate(aggregate(reports, wide, width, epsilon))
            found.append(np.abs(made - truth).mean())
        errors[name] = float(np.mean(found))
    return errors


def main(tables: Path, results: Path) -> None:
    """Measure the tools on every table and write what they reach."""
    kept = np.load(tables)
    names = sorted(name.removesuffix("/codes") for name in kept if name.endswith("/codes"))
    answer = {
        "versions": {
            "diffprivlib": importlib.metadata.version("diffprivlib"),
            "multi_freq_ldpy": importlib.metadata.version("multi-freq-ldpy"),
        },
        "naive_bayes": {
            name: [
                naive_bayes(
                    kept[f"{name}/codes"],
                    kept[f"{name}/sizes"],
                    int(kept[f"{name}/target"]),
                    np.log(gamma),
                )
                for gamma in GAMMAS
            ]
            for name in names
        },
        "margins": {
            str(gamma): margins(
                kept[f"{MARGINS_OF}/codes"], kept[f"{MARGINS_OF}/sizes"], np.log(gamma)
            )
            for gamma in GAMMAS
        },
    }
    results.write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

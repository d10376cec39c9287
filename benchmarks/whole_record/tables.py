"""The tables for other tools, as codes; and our own margins on them, beside theirs.

python -m benchmarks.whole_record.tables write TABLES.npz [DATA]
python -m benchmarks.whole_record.tables margins PEERS.json [DATA]
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.whole_record.commands import FILES, GAMMAS, RUNS, SEED, TARGETS
from pramana.simulate.designs import designed
from pramana.simulate.sources import Source
from pramana.simulate.study import Trials
from pramana.simulate.tables import read_source
from pramana_core.design import goal
from pramana_core.estimation.estimated import EstimatedMarginals

INTERVALS = 8


def source_of(table: str, data: Path) -> Source:
    """Return a table with its numbers in `INTERVALS` intervals."""
    return read_source(data / FILES[table], None, None, INTERVALS)


def write(tables: Path, data: Path) -> None:
    """Write every table's codes, sizes and the place of its class."""
    kept = {}
    for name, target in TARGETS.items():
        source = source_of(name, data)
        codes = source.draw(source.records, np.random.default_rng(SEED))
        kept[f"{name}/codes"] = np.stack([codes[v.name] for v in source.domain], axis=1)
        kept[f"{name}/sizes"] = np.array(source.domain.shape)
        kept[f"{name}/target"] = np.array(source.domain.axis(target))
    np.savez_compressed(tables, allow_pickle=False, **kept)


def margins(peers: Path, data: Path) -> None:
    """Put the mean absolute error of our margins of adult beside theirs."""
    found = json.loads(peers.read_text(encoding="utf-8"))
    source = source_of("adult", data)
    for gamma in GAMMAS:
        wanted = goal(source.domain, "counts")
        plan = designed(source.domain, "auto", float(gamma), wanted, source.records)
        errors = []
        for trial in Trials(source, plan.plan, source.records, RUNS[gamma], SEED):
            ours = EstimatedMarginals(trial.reported, plan.plan, estimator=plan.estimator)
            errors += [
                np.abs(ours.marginal([v.name]).counts - trial.true.table([v.name])) / source.records
                for v in source.domain
            ]
        found["margins"][str(gamma)]["ours"] = float(np.concatenate(errors).mean())
    peers.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    act = {"write": write, "margins": margins}[sys.argv[1]]
    folder = sys.argv[3] if len(sys.argv) > 3 else os.environ.get("PRAMANA_DATA", "../shared/data")
    act(Path(sys.argv[2]), Path(folder))

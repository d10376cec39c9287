"""Write at which levels anjana publishes the training records of each fold of Sharkey's figure 7.

python -m benchmarks.reproduce.sharkey.publishing PYTHON [--data DIR] [--folds 2] [--tables car]
    [--check]

Two of the ten folds take some six minutes on two cores, nursery's nearly all of them. They are
enough: anjana's levels hardly depend on the fold, and the experiments check them anew on the
records they have. What is kept of other tables stays. With --check nothing is written, and exit
code 1 says that the levels are not those that are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.sharkey.cells import FOLDS, PUBLISHED, REQUIREMENTS, kept_of, label
from pramana.simulate.model_sharing_options import Process, SimulationOptions
from pramana_core.terminal import console

TABLES = ("car", "nursery")
ENOUGH = 2
DATA = os.environ.get("PRAMANA_DATA", "../shared/data")


def main() -> None:
    """Publish folds of tables, and write the levels or compare them with those that are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="the Python that has anjana")
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the public tables")
    parser.add_argument("--folds", type=int, default=ENOUGH, help="how many of the ten")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    publisher = Process(options.python)
    setting = Setting(seed=1, data=options.data)
    kept = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    tables = {name: _levels(setting, name, publisher, options.folds) for name in options.tables}
    if options.check:
        sys.exit(_compared(kept["tables"], tables))
    found: dict[str, Any] = {
        "publisher": publisher.name,
        "version": publisher.version,
        "seed": setting.seed,
        "tables": {**kept["tables"], **tables},
    }
    PUBLISHED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _compared(kept: dict[str, Any], tables: dict[str, Any]) -> int:
    """Print what is not as it is kept; return 1 if there is any, else 0."""
    other = [
        f"{name}, {asked}, fold {number + 1}"
        for name, found in tables.items()
        for asked, levels in found.items()
        for number, (new, old) in enumerate(zip(levels, kept[name][asked], strict=False))
        if new != old
    ]
    words = "; ".join(other) if other else "none"
    console().print(f"levels that are not those in {PUBLISHED.name}: {words}")
    return int(bool(other))


def _levels(setting: Setting, name: str, publisher: Process, number: int) -> dict[str, Any]:
    kept = kept_of(setting, name)
    found: dict[str, list[dict[str, int] | None]] = {label(r): [] for r in REQUIREMENTS}
    for fold in kept.folds(SimulationOptions(folds=FOLDS, seed=setting.seed))[:number]:
        began = time.perf_counter()
        table, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
        answers = publisher.publish(kept.schema, table, codes, REQUIREMENTS)
        for requirement, levels in zip(REQUIREMENTS, answers, strict=True):
            found[label(requirement)].append(levels)
        seconds = time.perf_counter() - began
        console().print(f"{name}, fold {fold.number + 1}: {seconds:.1f} s")
    return found


if __name__ == "__main__":
    main()

"""Write at which levels anjana publishes the training records of each fold of Sharkey's figure 7.

python -m benchmarks.publishing PYTHON [--data DIR] [--folds 10]

Fewer folds are enough for most uses: the experiments check levels anew on the records they have.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

from pramana.reproduce.engine.experiment import Setting
from pramana.reproduce.sharkey.cells import FOLDS
from pramana.reproduce.sharkey.published import PUBLISHED, REQUIREMENTS
from pramana.reproduce.sharkey.tables import kept_of
from pramana.simulate.model_sharing.options import SimulationOptions
from pramana.simulate.publishing.publishers import Process
from pramana.simulate.publishing.recorded import label
from shared.terminal import console

TABLES = ("car", "nursery")
DATA = os.environ.get("PRAMANA_DATA", "../shared/data")


def main() -> None:
    """Publish every fold of every table, and write the levels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="the Python that has anjana")
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the public tables")
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the ten")
    options = parser.parse_args()
    publisher = Process(options.python)
    setting = Setting(seed=1, data=options.data)
    found: dict[str, Any] = {
        "publisher": publisher.name,
        "version": publisher.version,
        "seed": setting.seed,
        "tables": {name: _levels(setting, name, publisher, options.folds) for name in TABLES},
    }
    PUBLISHED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


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

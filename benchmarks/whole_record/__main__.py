"""Measure what is learned under one bound for the whole record, and write docs/whole-record.md.

python -m benchmarks.whole_record [--only words of a name] [--runs 5] [--data DIR] [--page]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.whole_record.commands import (
    ALL,
    RESULTS,
    RUNS,
    Found,
    SimulationCommand,
    figures_of,
)
from benchmarks.whole_record.page import write
from pramana_core.terminal import console, progress_bar

DATA = os.environ.get("PRAMANA_DATA", "../shared/data")


def main() -> None:
    """Run the settings asked for, keep their figures, and write the page of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="settings whose name holds these words")
    parser.add_argument("--runs", type=int, help="in place of those of commands.py")
    parser.add_argument("--data", type=Path, default=Path(DATA), help="the public tables")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    options = parser.parse_args()
    chosen = [s for s in ALL if options.only in s.name]
    if not options.page:
        if not chosen:
            parser.error(f"no setting's name holds {options.only!r}")
        _run(chosen, options.data, options.runs)
    write(json.loads(RESULTS.read_text(encoding="utf-8")))


def _run(chosen: Sequence[SimulationCommand], data: Path, runs: int | None) -> list[Found]:
    found = []
    with tempfile.TemporaryDirectory() as folder, progress_bar("simulating") as on_step:
        scratch = Path(folder)

        def act(setting: SimulationCommand) -> Found:
            return figures_of(setting, data, scratch, runs or RUNS[setting.gamma])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for one in pool.map(act, chosen):
                found.append(one)
                _record([one])
                on_step(len(found), len(chosen))
                console().print_json(json.dumps(one))
    return found


def _record(found: Sequence[Found]) -> None:
    """Put figures in the place of earlier ones, in the order of the settings."""
    known = {one["name"]: one for one in json.loads(RESULTS.read_text(encoding="utf-8"))}
    known |= {one["name"]: one for one in found}
    listed = [known[s.name] for s in ALL if s.name in known]
    RESULTS.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Run every learner on pgmpy's example networks, and write the table of docs/whole-record.md.

python -m benchmarks.whole_record.networks [--only words of a name] [--records 10000]
    [--seconds 600] [--missing]
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.whole_record.commands import (
    NETWORKS_RESULTS,
    RECORDS,
    SECONDS,
    NetworkCommand,
    Outcome,
    outcome_of,
    read,
    settings,
)
from benchmarks.whole_record.commands import RESULTS as WHOLE_RECORD
from benchmarks.whole_record.page import write_text
from pramana_core.terminal import console


def main() -> None:
    """Run the settings asked for one after another, keep how they ended, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="settings whose name holds these words")
    parser.add_argument("--records", type=int, default=RECORDS, help="of each command")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most of each command")
    parser.add_argument("--missing", action="store_true", help="only those without an outcome")
    options = parser.parse_args()
    known = read()
    chosen = [
        one
        for one in settings()
        if options.only in one.name and not (options.missing and one.name in known)
    ]
    _run(chosen, options.records, options.seconds)
    write_text(json.loads(WHOLE_RECORD.read_text(encoding="utf-8")))


def _run(chosen: Sequence[NetworkCommand], records: int, seconds: float) -> None:
    # No bar: its thread would be forked with the process.
    with tempfile.TemporaryDirectory() as folder:
        for one in chosen:
            outcome = outcome_of(one, Path(folder), records, seconds)
            _keep(one, outcome)
            console().print_json(json.dumps({one.name: outcome}))


def _keep(setting: NetworkCommand, outcome: Outcome) -> None:
    """Put an outcome in the place of an earlier one, in the order of the settings."""
    known = read() | {setting.name: outcome}
    listed = {one.name: known[one.name] for one in settings() if one.name in known}
    NETWORKS_RESULTS.write_text(
        json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()

"""The table of docs/whole-record.md: how each command ended and what it took."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.networks.settings import LEARNERS, NETWORKS, WAYS, Setting, settings

RESULTS = Path(__file__).parent / "results.json"


def read() -> dict[str, Any]:
    """Return the outcomes by the names of their settings."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def section(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the section of the page."""
    return f"{_told(found)}\n\n" + "\n".join(_rows(found)) + "\n"


def _told(found: Mapping[str, Mapping[str, Any]]) -> str:
    every = list(settings())
    learned = sum(outcome["ended"] == "learned" for outcome in found.values())
    sizes = sorted({outcome["records"] for outcome in found.values()})
    most = max((o["seconds"] for o in found.values() if o["ended"] == "learned"), default=0.0)
    missing = [n for n in NETWORKS if not any(one.startswith(f"{n},") for one in found)]
    left = f"\nNot measured: {', '.join(missing)}." if missing else ""
    return (
        "Each command draws records from one of pgmpy's example networks, has a plan designed for\n"
        "gamma (or replaces each category with probability p), randomizes and learns, once; what\n"
        "classifiers predict is the first variable of the file. A cell is the processor's seconds\n"
        "on one core, the program having started, and what was learned: the Kullback-Leibler\n"
        "distance in nats from the network, the percentage of frequent itemsets of 1, 2 and 3\n"
        "items missed, or the percentage of the class that is right; in brackets that from the\n"
        "clean records.\n"
        f"Of {len(every)} commands {len(found)} were run, with"
        f" {' or '.join(f'{size:,}' for size in sizes)} records; {learned} of them learned,\n"
        f"in at most {most:.0f} s. `make networks` runs them all.{left}"
    )


def _rows(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield f"| network, nodes | learner | {' | '.join(WAYS)} |"
    yield "| --- | --- |" + " --- |" * len(WAYS)
    for network, nodes in NETWORKS.items():
        for learner in LEARNERS:
            cells = [found.get(Setting(network, learner, way).name) for way in WAYS]
            if any(cells):
                yield f"| {network}, {nodes} | {learner} | {' | '.join(map(_cell, cells))} |"


def _cell(outcome: Mapping[str, Any] | None) -> str:
    if outcome is None:
        return "-"
    if outcome["ended"] != "learned":
        return f"{outcome['ended']}, {outcome['seconds']:.0f} s"
    return f"{outcome['seconds']:.1f} s, {_figure(outcome)}"


def _figure(outcome: Mapping[str, Any]) -> str:
    if "kl" in outcome:
        noisy, clean = ("-" if kl is None else f"{kl:.3g}" for kl in outcome["kl"])
        return f"{noisy} ({clean})"
    if "missed_pct" in outcome:
        return " ".join("-" if one is None else f"{one:.0f}" for one in outcome["missed_pct"])
    noisy, clean = (f"{100 * share:.1f}" for share in outcome["accuracy"])
    return f"{noisy} ({clean})"

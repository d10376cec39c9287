"""The results of sessions for people: the essentials of each kind of file, not all of it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pramana_core.ties import descending

_COUNTED = ("count", "se_records", "se_population", "low", "high")
_ROWS = 20
_LINES = 60


def show_results(console: Console, folder: Path) -> None:
    """Print the essentials of a session's files."""
    for name, show in _SHOWN.items():
        if (folder / name).exists():
            show(console, folder / name)


def _show_network(console: Console, path: Path) -> None:
    network = json.loads(path.read_text(encoding="utf-8"))
    holder = {
        name: owner["name"]
        for owner in network["participants"]
        for name in owner["variables"]
        if network["partition"] == "vertical"
    }
    table = Table(
        title=f"The network of {len(network['nodes'])} variables, {network['records']:,} records",
        box=SIMPLE_HEAD,
    )
    for heading in ("variable", "owner", "parents"):
        table.add_column(heading, overflow="fold")
    table.add_column("largest s.e.", justify="right")
    for node in network["nodes"]:
        told = [p["se"] for p in network["parameters"] if p["node"] == node["name"]]
        known = [se for se in told if se is not None]
        table.add_row(
            escape(node["name"]),
            holder.get(node["name"], "all"),
            escape(", ".join(node["parents"]) or "-"),
            f"{max(known):.4f}" if known else "-",
        )
    console.print(table)
    for link in network["links"]:
        kept = "" if link["confidence"] is None else f", probability {link['confidence']:.0%}"
        console.print(
            f"{link['parent']} -> {link['child']}: {link['gain']:.1f} nats above the penalty{kept}",
            markup=False,
        )


def _show_counts(console: Console, path: Path) -> None:
    rows = _rows(path)
    labels = [name for name in (rows[0] if rows else ()) if name not in _COUNTED]
    shown = [
        [*(row[n] for n in labels), *(_number(row[n], ",.1f") for n in _COUNTED)] for row in rows
    ]
    _show(console, path.name, labels, _COUNTED, shown)


def _show_rules(console: Console, path: Path) -> None:
    rows = _rows(path)
    rows = [rows[place] for place in descending([float(row["lift"] or 0) for row in rows])]
    measures = ("confidence", "lift", "support")
    shown = [
        [
            f"{row['antecedent']} -> {row['consequent']}",
            *(_estimate(row[name], row[f"{name}_se"], ".3f") for name in measures),
        ]
        for row in rows
    ]
    _show(console, "rules, those of the largest lift first", ["rule"], measures, shown)


def _show_weights(console: Console, path: Path) -> None:
    rows = _rows(path)
    shown = [
        [row["class"], row["column"], _estimate(row["weight"], row["se_population"], ".3g")]
        for row in rows
    ]
    _show(console, path.name, ["class", "column"], ["weight"], shown)


def _show_lines(console: Console, path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines[:_LINES]:
        console.print(line, markup=False, soft_wrap=True)
    if len(lines) > _LINES:
        console.print(f"... and {len(lines) - _LINES:,} more lines in the file.")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _show(
    console: Console,
    title: str,
    words: Sequence[str],
    numbers: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> None:
    """Print the first rows: under headings of words that may be broken, and of numbers."""
    if not rows:
        console.print(f"{title}: none.", markup=False)
        return
    table = Table(title=title, box=SIMPLE_HEAD)
    for heading in words:
        table.add_column(escape(heading), overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows[:_ROWS]:
        table.add_row(*map(escape, row))
    console.print(table)
    if len(rows) > _ROWS:
        console.print(f"... and {len(rows) - _ROWS:,} more rows in the file.")


def _number(text: str, form: str) -> str:
    return format(float(text), form) if text else "-"


def _estimate(text: str, error: str, form: str) -> str:
    return f"{_number(text, form)} ± {_number(error, form)}" if error else _number(text, form)


_SHOWN: dict[str, Callable[[Console, Path], Any]] = {
    "network.json": _show_network,
    "table.csv": _show_counts,
    "rules.csv": _show_rules,
    "tree.txt": _show_lines,
    "bayes.txt": _show_lines,
    "weights.csv": _show_weights,
}
"""How each file is shown; the others are pictures, or hold the same in full."""

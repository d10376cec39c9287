"""What people see of a session: how far it is, what came of it, and the essentials of its files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from owner_agent.peer.exact import Disclosure
from owner_agent.peer.exchange.outgoing import session_json, session_lines
from owner_agent.release.ledger import PEER
from pramana_core.csv_text import unmarked
from pramana_core.errors import PramanaError
from pramana_core.ties import descending

if TYPE_CHECKING:
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.peer.session import SessionResult
    from owner_agent.release.ledger import Entry

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
        name: owner["name"] for owner in network["participants"] for name in owner["variables"]
    }
    table = Table(
        title=f"The network of {len(network['nodes'])} variables, {network['records']:,} records",
        box=SIMPLE_HEAD,
    )
    for heading in ("variable", "owner", "parents"):
        table.add_column(heading, overflow="fold")
    table.add_column("largest s.e.", justify="right")
    for node in network["nodes"]:
        errors = [p["se"] for p in network["parameters"] if p["node"] == node["name"]]
        known = [se for se in errors if se is not None]
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
        rows = csv.DictReader(file)
        return [{name: unmarked(value) for name, value in row.items()} for row in rows]


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


STEPS = {
    "offers": "asking the owners to take part",
    "announcements": "randomizing",
    "checks": "checking what was announced",
    "start": "starting",
    "learning": "learning",
    "networks": "joining the parts",
    "writing": "writing",
}


def outcome_json(outcome: JointOutcome) -> dict[str, Any]:
    """Return a session's outcome for scripts; the network itself is in the files."""
    return {
        "session": outcome.session,
        "digest": outcome.digest,
        "folder": str(outcome.folder),
        "files": sorted(path.name for path in outcome.folder.iterdir()),
        "unconfirmed": list(outcome.unconfirmed),
        "privacy": session_json(outcome.told),
    }


def show_outcome(console: Console, outcome: JointOutcome) -> None:
    """Print what a session found, and where it is."""
    show_results(console, outcome.folder)
    console.print(f"The result is in {outcome.folder}:", markup=False, soft_wrap=True)
    for path in sorted(outcome.folder.iterdir()):
        console.print(f"  {path.name}", markup=False)
    for line in session_lines(outcome.told):
        console.print(line, markup=False, soft_wrap=True)
    for name in outcome.unconfirmed:
        console.print(
            f"{name} did not confirm that it wrote the result. It will ask the others when the"
            " session's time is over; if it was stopped, give it the files.",
            style="bold yellow",
            markup=False,
        )


def _reason(error: PramanaError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "remedy": error.remedy}


def shared_json(kept: Sequence[SessionResult]) -> list[dict[str, Any]]:
    """Return the families whose parameters were shared, by session, for scripts."""
    return [
        {
            "session": one.proposal.session,
            "participants": one.proposal.participants,
            "families": [family.model_dump() for family in one.families],
        }
        for one in kept
        if one.families
    ]


def told_json(
    disclosures: Sequence[Disclosure], lost: PramanaError | None = None
) -> dict[str, Any]:
    """Return the tables that were told exactly, for scripts.

    Where the memory of them is `lost`, the list is null and the reason stands beside it.
    """
    if lost is not None:
        return {"told_exactly": None, "told_exactly_error": _reason(lost)}
    listed = [one.model_dump(mode="json", exclude={"own", "groups"}) for one in disclosures]
    return {"told_exactly": listed}


def show_lost(console: Console, lost: PramanaError) -> None:
    """Print, in place of `show_told`, that nobody knows what was disclosed exactly, and why."""
    console.print(
        f"What was disclosed exactly to peers cannot be listed ({lost.code}): {lost}",
        style="bold red",
        markup=False,
        soft_wrap=True,
    )


def show_told(console: Console, disclosures: Sequence[Disclosure], groupings: int | None) -> None:
    """Print the tables that were disclosed exactly; `groupings` are allowed in a study."""
    if not disclosures:
        return
    table = Table(title="Tables told exactly to peers", box=SIMPLE_HEAD)
    for heading in ("study", "columns", "against the peers'"):
        table.add_column(heading, overflow="fold")
    for one in disclosures:
        against = ", ".join(one.against) or "no column"
        table.add_row(escape(one.study), escape(", ".join(one.columns)), escape(against))
    console.print(table)
    allowed = "" if groupings is None else f" The site file allows {groupings} in a study."
    console.print(
        "Two tables that differ in few records tell of those records by subtraction; epsilon"
        f" does not cover it.{allowed}",
        style="dim",
    )


def show_peer_lines(
    console: Console, entries: Sequence[Entry], kept: Sequence[SessionResult] = ()
) -> None:
    """Print what the ledger says went to peers, and to whom; `kept` tells of shared parameters."""
    sent = [entry for entry in entries if entry.miner.startswith(PEER)]
    if not sent:
        return
    table = Table(title="Of these, to peers", box=SIMPLE_HEAD)
    table.add_column("release", overflow="fold")
    table.add_column("to", overflow="fold")
    table.add_column("columns", overflow="fold")
    families = {one.proposal.session: "; ".join(map(str, one.families)) for one in kept}
    for entry in sent:
        columns = ", ".join(draw.column for draw in entry.draws)
        learned = families.get(entry.release_id or "")
        about = f"its offer, and the parameters of {learned}" if learned else "its offer"
        table.add_row(entry.name, escape(entry.miner.removeprefix(PEER)), escape(columns or about))
    console.print(table)
    if any(families.values()):
        console.print(
            "Epsilon covers the randomized columns. It does not cover the parameters that were"
            " shared: they are made from this owner's true records.",
            markup=False,
        )

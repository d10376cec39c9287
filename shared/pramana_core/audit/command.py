"""`audit verify`, which every command line has: is a log still the one that was written?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pramana_core.errors import OptionError, StoreCorrupt
from pramana_core.terminal import console, print_json, progress_bar

ANCHORS = "anchors"
"""The folder in an owner's state directory that holds the anchors it has seen, a file per miner."""


def audit_commands() -> typer.Typer:
    """Return the commands about a service's audit log."""
    app = typer.Typer(help="Check audit logs: chained lines, and anchors of them.")
    app.callback()(_group)
    app.command("verify")(verify_log)
    return app


def _group() -> None:
    """Check audit logs: chained lines, and anchors of them."""


def verify_log(
    file: Annotated[Path, typer.Argument(help="The log: audit.jsonl.")],
    anchor: Annotated[
        list[str] | None,
        typer.Option(help="A state that the log must have gone through: ENTRIES:HEAD. Repeatable."),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(help="A file of anchors, or the state folder of an owner who has seen some."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the result as JSON.")] = False,
) -> None:
    """Say whether every line follows the one before. Exit code 4 if one does not."""
    from pramana_core.audit.verifying import Broken, anchor_of, read_anchors, verify

    known = [anchor_of(text) for text in anchor or ()]
    if anchors is not None:
        known += read_anchors(anchors_file(anchors))
    with progress_bar("reading the log") as bar:
        found = verify(file, known, bar)
    broken = isinstance(found, Broken)
    if json:
        print_json({"verified": not broken, "anchors": len(known), **asdict(found)})
        if broken:
            sys.exit(StoreCorrupt.exit_code)
        return
    if isinstance(found, Broken):
        raise StoreCorrupt(
            f"{file} is not as it was written. Line {found.line}, {found.kind}: {found.why}.",
            where=f"line {found.line}",
            remedy=f"The {found.entries} lines of the chain before it are good. Keep the file as it"
            " is, and compare it with a backup and with what others remember of it.",
        )
    console().print(
        f"{found.entries} lines, each follows the one before; head {found.head}.",
        markup=False,
        soft_wrap=True,
    )
    sentence = (
        f"{len(known)} anchors hold."
        if known
        else "Lines missing at its end show only against an anchor: --anchor, --anchors."
    )
    console().print(sentence, markup=False, soft_wrap=True)


def anchors_file(place: Path) -> Path:
    """Return the file of anchors that a place names.

    Raises:
        OptionError: it is a folder with none, or with those of several miners.
    """
    if not place.is_dir():
        return place
    folder = place / ANCHORS if (place / ANCHORS).is_dir() else place
    found = sorted(folder.glob("*.jsonl"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(path) for path in found) or "none"
    raise OptionError(
        f"{place} must hold the anchors of one log; it has {names}.",
        where="anchors",
        remedy="Name the file.",
    )

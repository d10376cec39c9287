"""Private trees that were drawn: each once, and kept before anybody sees it.

A tree that was drawn anew each time it is looked at could be drawn until it pleases, and one that
was drawn anew after a crash would tell more than one tree may. So it is written down as soon as it
is drawn, under an identity that follows from the table and the options, and read from there ever
after. What is kept is what may leave, and no more.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from owner_agent.model_sharing.choosing import Chosen
from owner_agent.state.history import state_directory
from owner_agent.state.private_files import private_directory, write_new
from pramana_core.errors import InputError, LimitExceeded, StoreCorrupt
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.model_sharing.exchange.documents import read_tree_json, write_tree_json
from pramana_core.progress import StagedProgress

FOLDER = "private-trees"
"""In the state directory."""


@dataclass(frozen=True)
class Drawn:
    """A private tree, and how many others were drawn of some of its columns."""

    tree: SharedTree
    others: int


def private_tree(chosen: Chosen, state: Path, watch: StagedProgress) -> Drawn:
    """Return the private tree of a table: the one that was drawn before, or a new one, kept.

    Raises:
        NotInstalled: nothing that draws the noise is installed.
        StoreCorrupt: what was kept cannot be read.
    """
    folder = private_directory(state_directory(state) / FOLDER)
    path = folder / f"{chosen.identity}.json"
    if not path.exists():
        watch("growing", 0, 1)
        # If another command has drawn it meanwhile, that one counts.
        with suppress(FileExistsError):
            write_new(path, write_tree_json(_draw(chosen)).encode())
        watch("growing", 1, 1)
    tree = _read(path)
    if tree.schema != chosen.schema:
        raise _corrupt(path)
    names = set(chosen.columns.table.names)
    others = [_columns(other) for other in folder.glob("*.json") if other != path]
    return Drawn(tree, sum(bool(names & found) for found in others))


def _draw(chosen: Chosen) -> SharedTree:
    from owner_agent.model_sharing.noise import TreeNoise
    from pramana_core.model_sharing.private.growing import (
        PrivateOptions,
        depth_for,
        grow_private_tree,
    )

    asked = chosen.section.private
    assert asked is not None  # noqa: S101 - only private trees are drawn
    noise = TreeNoise()
    usual = PrivateOptions()
    # How many records have no empty cell is no public figure; how many there are is.
    for_counts = asked.epsilon * (1 - usual.splits)
    depth = asked.depth or depth_for(chosen.columns.rows, chosen.schema.classes, for_counts)
    options = replace(usual, depth=depth)
    return grow_private_tree(
        chosen.schema, chosen.attributes, chosen.classes, asked.epsilon, noise, options
    ).tree


def _read(path: Path) -> SharedTree:
    try:
        return read_tree_json(path.read_bytes(), noised=True)
    except (OSError, InputError, LimitExceeded) as error:
        raise _corrupt(path) from error


def _columns(path: Path) -> set[str]:
    """Return the names of the columns of a tree that was drawn."""
    try:
        told = json.loads(path.read_bytes())
        return {told["target"]["name"], *(a["name"] for a in told["attributes"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _corrupt(path) from error


def _corrupt(path: Path) -> StoreCorrupt:
    return StoreCorrupt(
        f"The private tree {path.name[:12]} is not what was written there.",
        where=str(path),
        remedy="Restore it from your backup: a tree that is drawn anew costs its epsilon anew.",
    )

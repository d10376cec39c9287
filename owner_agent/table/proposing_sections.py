"""`[mask]` and `[share_model]` proposed from the variables of a site file that `init` wrote."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from owner_agent.site.planning import planned, without_protection
from owner_agent.site.site import Site, VariableSection
from owner_agent.site.writing import ExtendedSite
from owner_agent.table.proposing import require_columns
from owner_agent.table.table import column_names
from pramana_core.errors import OptionError

SMALLEST_PATH = 10
"""The fewest records on a path of a shared tree, if nobody names another number."""


def with_mask(
    site: Site, path: Path, confidential: Sequence[str], tell: Sequence[str] | None
) -> ExtendedSite:
    """Return a site file with `[mask]`, not written yet; `tell` is by default what may leave.

    A sensitive variable of a masked column is taken out: it would leave in two forms.
    Raises MissingColumn, ConfigError.
    """
    known = {v.source: v for v in site.file.variables}
    if tell is None:
        tell = [c for c, v in known.items() if not v.sensitive and c not in confidential]
    require_columns([*confidential, *tell], column_names(site.table))
    entries = [_entry(site, column, known.get(column)) for column in tell]
    numeric = [*confidential, *(entry for entry in entries if isinstance(entry, str))]
    section: dict[str, Any] = {"confidential": list(confidential), "tell": entries}
    named = [known[c] for c in (*confidential, *tell) if c in known]
    taken = [v.name for v in named if v.sensitive or v.source in confidential]
    return _extended(site, path, {"mask": section | _dropping(numeric, known)}, taken)


def with_tree(
    site: Site, path: Path, target: str, smallest_path: float, epsilon: float | None
) -> ExtendedSite:
    """Return a site file with `[share_model]` of all its variables, not written yet.

    The ranges of numbers follow from their public cuts. With `epsilon` the tree is private; of
    another one sensitive variables are taken out, as by `with_mask`.
    Raises OptionError, ConfigError.
    """
    known = {v.source: v for v in site.file.variables}
    if target not in known or known[target].cuts is not None:
        raise OptionError(
            f"The site file lists no categories of {target!r}.",
            where="target",
            remedy=f"Name a variable with categories, one of {', '.join(known)}; `owner-agent init"
            " --categories` lists some.",
        )
    entries = {column: _entry(site, column, variable) for column, variable in known.items()}
    attributes = [
        {"column": column} | _range(known[column]) if entry == column else entry
        for column, entry in entries.items()
        if column != target
    ]
    protection: dict[str, Any] = {"requirement": {"k": smallest_path}}
    if epsilon is not None:
        protection = {"private": {"epsilon": epsilon}}
    section = {"target": entries[target], "attributes": attributes, **protection}
    numeric = [column for column, variable in known.items() if variable.cuts is not None]
    taken = [v.name for v in known.values() if v.sensitive and epsilon is None]
    return _extended(site, path, {"share_model": section | _dropping(numeric, known)}, taken)


def _extended(site: Site, path: Path, section: Any, taken: Sequence[str]) -> ExtendedSite:
    if taken and site.file.study_plan is not None:
        raise OptionError(
            f"The study's plan randomizes {', '.join(taken)}: they would leave in two forms.",
            where="study_plan",
            remedy="Name other columns, or write a site file of its own with `owner-agent init`.",
        )
    return ExtendedSite.of(path, section, dict.fromkeys(taken))


def _entry(site: Site, column: str, variable: VariableSection | None) -> Any:
    """Return a column with its categories, or the name alone of one of numbers."""
    if variable is None or variable.cuts is not None:
        return column
    categories = planned(without_protection(site)).variables[variable.name].categories
    missing = {} if variable.missing is None else {"missing": variable.missing}
    return {"column": column, "categories": list(categories), **missing}


def _dropping(numeric: Sequence[str], known: dict[str, VariableSection]) -> dict[str, str]:
    """Return that records are left out where numbers may be missing."""
    gaps = any(c in known and known[c].missing is not None for c in numeric)
    return {"missing": "drop"} if gaps else {}


def _range(variable: VariableSection) -> dict[str, float]:
    """Return a range by the public cuts alone: one interval more on each side."""
    cuts = variable.cuts or ()
    steps = [high - low for low, high in itertools.pairwise(cuts)] or [abs(cuts[0]) or 1.0]
    return {"low": cuts[0] - steps[0], "high": cuts[-1] + steps[-1]}

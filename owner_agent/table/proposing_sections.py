"""Proposals of the sections `[mask]` and `[share_model]` from the variables of a site file."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from owner_agent.site.planning import planned, without_protection
from owner_agent.site.sections import Section
from owner_agent.site.site import Site, VariableSection
from owner_agent.site.tree_section import AttributeSection, TargetSection
from owner_agent.site.writing import ExtendedSite
from owner_agent.table.proposing import require_columns
from owner_agent.table.table import column_names
from pramana_core.alike import first_few
from pramana_core.errors import OptionError

SMALLEST_PATH = 10
"""Default of the smallest count of records on a path of a shared tree."""


def with_mask(
    site: Site, path: Path, confidential: Sequence[str], tell: Sequence[str] | None
) -> ExtendedSite:
    """Return a site file with new columns in `[mask]`, not written to disk. Other keys remain.

    By default, the columns of variables that are not sensitive are sent unchanged. Variables of
    confidential columns are removed, because these columns would be released in two forms. Raises
    MissingColumn, OptionError, ConfigError.
    """
    if tell is None:
        public = (v.source for v in site.file.variables if not v.sensitive)
        tell = [column for column in public if column not in confidential]
    require_columns([*confidential, *tell], column_names(site.table))
    columns = _columns(site)
    before = site.file.mask
    known = {} if before is None else {one.column: _keys(one) for one in before.tell}
    unchanged = [known.get(c) or {"column": c} | _listed(columns.get(c, {})) for c in tell]
    numeric = [*confidential, *(one["column"] for one in unchanged if "categories" not in one)]
    section = _keys(before) | {"confidential": list(confidential), "tell": unchanged}
    taken = [v.name for v in site.file.variables if v.source in confidential]
    return _extended(site, path, "mask", section, numeric, taken)


def with_tree(
    site: Site, path: Path, target: str, k: float | None, epsilon: float | None
) -> ExtendedSite:
    """Return a site file with all its columns in `[share_model]`, without writing the file.

    Ranges of numbers are derived from public cuts. `k` or `epsilon` replaces the tree's protection.
    Without either, existing protection remains, and a new section gets `k` = `SMALLEST_PATH`. For a
    tree that is not private, sensitive variables are removed as in `with_mask`. Raises OptionError,
    ConfigError.
    """
    columns = _columns(site)
    if "categories" not in columns.get(target, {}):
        raise OptionError(
            f"The site file has no categories for {target!r}.",
            where="target",
            remedy=f"Name a variable with categories, one of {first_few(columns, 12)}. `owner-agent"
            " init --categories` adds categories.",
        )
    kept = _keys(site.file.share_model)
    required, private = kept.get("requirement"), kept.get("private")
    if epsilon is not None:
        kept = _without(kept, "requirement") | {"private": {**(private or {}), "epsilon": epsilon}}
    elif k is not None:
        before = required if isinstance(required, dict) else {}
        kept = _without(kept, "private") | {"requirement": {**before, "k": k}}
    elif required is None and private is None:
        kept["requirement"] = {"k": SMALLEST_PATH}
    others = [one for column, one in columns.items() if column != target]
    section = kept | {"target": columns[target], "attributes": others}
    numeric = [one["column"] for one in others if "categories" not in one]
    taken = [v.name for v in site.file.variables if v.sensitive and "private" not in kept]
    return _extended(site, path, "share_model", section, numeric, taken)


def _keys(section: Section | None) -> dict[str, Any]:
    return {} if section is None else section.model_dump(exclude_unset=True)


def _without(section: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in section.items() if name != key}


def _listed(column: Mapping[str, Any]) -> dict[str, Any]:
    return {key: column[key] for key in ("categories", "missing") if key in column}


def _columns(site: Site) -> dict[str, dict[str, Any]]:
    """Return for each column its list in the site file: categories, or a range of numbers."""
    found: dict[str, dict[str, Any]] = {}
    shared, domain = site.file.share_model, planned(without_protection(site)).variables
    parts: list[AttributeSection | TargetSection] = []
    if shared is not None:
        parts = [*shared.attributes, shared.target]
    for one in parts:
        found[one.column] = one.model_dump(exclude_unset=True)
    for variable in site.file.variables:
        known: dict[str, Any] = {"column": variable.source}
        if variable.cuts is not None:
            known |= _range(variable)
        else:
            known["categories"] = list(domain[variable.name].categories)
            known |= {} if variable.missing is None else {"missing": variable.missing}
        found[variable.source] = known
    return found


def _extended(
    site: Site,
    path: Path,
    name: str,
    section: Mapping[str, Any],
    numeric: Sequence[str],
    taken: Sequence[str],
) -> ExtendedSite:
    """Return a site file with a new section, which omits records if numbers may be missing."""
    if taken and site.file.study_plan is not None:
        raise OptionError(
            f"The study's plan already randomizes {', '.join(taken)}, so these columns cannot be "
            "released in another form.",
            where="study_plan",
            remedy="Name other columns, or write a separate site file with `owner-agent init`.",
        )
    if joint := [b for b in site.file.blocks if not set(taken).isdisjoint(b.variables)]:
        raise OptionError(
            f"A block randomizes {', '.join(joint[0].variables)} together. A column in a block "
            "cannot be released in another form.",
            where="blocks",
            remedy="Remove the column from [[blocks]], name other columns, or write a separate site"
            " file with `owner-agent init --site FILE`.",
        )
    before = getattr(site.file, name)
    gaps = any(v.missing is not None and v.source in numeric for v in site.file.variables)
    if gaps or (before is not None and before.missing == "drop"):
        section = {**section, "missing": "drop"}
    return ExtendedSite.of(path, {name: section}, dict.fromkeys(taken))


def _range(variable: VariableSection) -> dict[str, float]:
    """Return a range of numbers from public cuts: the cuts and one more interval on each side."""
    cuts = variable.cuts or ()
    steps = [high - low for low, high in itertools.pairwise(cuts)] or [abs(cuts[0]) or 1.0]
    return {"low": cuts[0] - steps[0], "high": cuts[-1] + steps[-1]}

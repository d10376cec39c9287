"""A new site file as a person would write it: what was proposed of a table, and what to decide."""

from __future__ import annotations

import os
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from owner_agent.site.planning import planned, raise_together, without_protection
from owner_agent.site.site import site_from
from owner_agent.site.table_source import TableSource, located
from owner_agent.site.writing import toml
from owner_agent.state.private_files import save
from owner_agent.table.encode import inspect
from owner_agent.table.proposing import ProposedSite, ProposedVariable

_HEAD = (
    "What this table holds. `owner-agent check` reads the table by it, and nothing is sent. The"
    " names of variables and their categories become public with the plan; nothing else here does."
)
_SENSITIVE = (
    "A sensitive variable leaves randomized or not at all. How, the study's plan says, which"
    " `owner-agent join` fetches, or a channel here, which `owner-agent design` proposes."
    " sensitive = false would let a column leave as it is."
)


def site_text(
    proposed: ProposedSite, folder: Path, owner: str, miner: Mapping[str, str] | None
) -> str:
    """Return the text of a site file in a folder."""
    source = proposed.table
    head: dict[str, Any] = {
        "owner": owner,
        "table": (
            located(source.database, Path.cwd(), folder)
            if source.database
            else os.path.relpath(source.path, folder)
        ),
        "record_id": proposed.record_id,
    }
    # Later commands read the text as it was read here.
    facts = ("query", "encoding", "separator", "decimal_commas", "dates_as_years")
    head |= {
        name: getattr(source, name)
        for name in facts
        if getattr(source, name) != getattr(TableSource(source.path), name)
    }
    parts = [_comment(_HEAD) + toml(head)]
    if miner is not None:
        parts.append(toml({"miner": dict(miner)}))
    if proposed.left_out:
        left = "".join(f"# * {name!r}: {why}\n" for name, why in proposed.left_out.items())
        parts.append("# Columns that stay at home:\n" + left)
    parts.append(_comment(_SENSITIVE))
    parts += [_origin(v) + toml({"variables": [_entry(v)]}) for v in proposed.variables]
    return "\n".join(parts)


def write_site(text: str, path: Path) -> None:
    """Write a new site file that the table fits, or nothing. Raises InputError."""
    site = site_from(tomllib.loads(text), path.resolve().parent, str(path))
    raise_together(list(inspect(site, planned(without_protection(site))).problems))
    save(path, text.encode(), "site")


def _entry(variable: ProposedVariable) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": variable.name}
    if variable.cuts:
        entry["cuts"] = [int(cut) if cut.is_integer() else cut for cut in variable.cuts]
    else:
        entry["categories"] = list(variable.categories)
    if variable.missing is not None:
        entry["missing"] = variable.missing
    return {**entry, "sensitive": variable.sensitive}


def _origin(variable: ProposedVariable) -> str:
    if variable.public:
        return "# A public list.\n"
    held = f"# It holds {variable.note}.\n" if variable.note else ""
    if variable.cuts:
        return f"{held}# Cuts proposed from the table, at round numbers.\n"
    return f"{held}# The table's own list, which you confirmed.\n"


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 98, break_on_hyphens=False))

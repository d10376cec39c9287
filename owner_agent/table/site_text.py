"""The text of a new site file from a proposal, with comments on decisions that remain."""

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
    "Description of the table. `owner-agent check` reads the table with this file and sends"
    " nothing. Only the names of variables and their categories become public, with the plan."
)
_SENSITIVE = (
    "A sensitive variable is sent randomized or not at all. The randomization is defined by the"
    " study's plan, which `owner-agent join` fetches, or by channels in this file, which"
    " `owner-agent design` proposes. With sensitive = false, a column is sent unchanged."
)


def site_text(
    proposed: ProposedSite, folder: Path, owner: str, miner: Mapping[str, str] | None
) -> str:
    """Return the text of a new site file, with paths relative to `folder`."""
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
    # Later commands must read the table in the same format.
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
        parts.append("# Omitted columns:\n" + left)
    parts.append(_comment(_SENSITIVE))
    parts += [_origin(v) + toml({"variables": [_entry(v)]}) for v in proposed.variables]
    return "\n".join(parts)


def write_site(text: str, path: Path) -> None:
    """Write a new site file if the table can be read with it. Raises InputError."""
    require_readable(text, path)
    save(path, text.encode(), "site")


def require_readable(text: str, path: Path) -> None:
    """Check that the table can be read with the text of a site file. Raises InputError."""
    site = site_from(tomllib.loads(text), path.resolve().parent, str(path))
    raise_together(list(inspect(site, planned(without_protection(site))).problems))


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
    note = f"# The column contains {variable.note}.\n" if variable.note else ""
    if variable.cuts:
        return f"{note}# Cuts proposed from the table, at round numbers.\n"
    return f"{note}# A list from the table, which you confirmed.\n"


def _comment(text: str) -> str:
    return "".join(f"# {line}\n" for line in textwrap.wrap(text, 98, break_on_hyphens=False))

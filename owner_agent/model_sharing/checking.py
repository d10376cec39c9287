"""Whether a tree can be learned as the site file says, before any is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from owner_agent.model_sharing.columns import read_tree_columns
from owner_agent.site.site import Site
from pramana_core.errors import PramanaError


@dataclass(frozen=True)
class TreeCheck:
    """Of what a tree would be learned; what is wrong with the table, if anything."""

    records: int
    dropped: int
    target: str
    attributes: tuple[str, ...]
    private: bool
    problem: PramanaError | None

    @property
    def sentence(self) -> str:
        """What `owner-agent share-model` would do."""
        if self.problem is not None:
            return f"No tree of {self.target} can be learned yet."
        left_out = f" ({self.dropped:,} with empty cells left out)" if self.dropped else ""
        tree = "a private tree" if self.private else "a tree"
        return (
            f"{self.records:,} records{left_out}: {tree} of {self.target} would be learned from"
            f" {', '.join(self.attributes)}; `owner-agent share-model` shows it."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "records": self.records,
            "dropped": self.dropped,
            "target": self.target,
            "attributes": list(self.attributes),
            "private": self.private,
        }


def check_sharing(site: Site) -> TreeCheck:
    """Read what a site's tree is learned from. Raises ConfigError if it shares none."""
    section = site.share_model
    records = dropped = 0
    problem = None
    try:
        columns = read_tree_columns(site)
        records, dropped = columns.table.records, columns.dropped
    except PramanaError as error:
        problem = error
    *attributes, target = section.columns
    private = section.private is not None
    return TreeCheck(records, dropped, target, tuple(attributes), private, problem)

"""Whether a table can be masked as its site file says, before anything is masked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from owner_agent.masking.columns import read_columns
from owner_agent.site.site import Site
from pramana_core.errors import PramanaError


@dataclass(frozen=True)
class MaskCheck:
    """What would be masked, of how many records; what is wrong with the table, if anything."""

    records: int
    dropped: int
    told: tuple[str, ...]
    confidential: tuple[str, ...]
    method: str
    problem: PramanaError | None

    @property
    def sentence(self) -> str:
        """What `owner-agent mask` would do."""
        if self.problem is not None:
            return f"{', '.join(self.confidential)} cannot be masked yet."
        left_out = f" ({self.dropped:,} with empty cells left out)" if self.dropped else ""
        return (
            f"{self.records:,} records{left_out}: {', '.join(self.confidential)} would be masked"
            f" (method {self.method}), {', '.join(self.told) or 'nothing'} told as is;"
            " `owner-agent mask` reports on it."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""
        return {
            "records": self.records,
            "dropped": self.dropped,
            "told": list(self.told),
            "confidential": list(self.confidential),
            "method": self.method,
        }


def check_masking(site: Site) -> MaskCheck:
    """Read what a site masks and tells. Raises ConfigError if it masks nothing."""
    section = site.mask
    records = dropped = 0
    problem = None
    try:
        table = read_columns(site)
        records, dropped = len(table.record_ids), table.dropped
    except PramanaError as error:
        problem = error
    return MaskCheck(records, dropped, section.told, section.confidential, section.method, problem)

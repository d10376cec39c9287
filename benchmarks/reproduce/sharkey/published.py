"""What (c, l) the paper asks for, and the levels at which anjana publishes tables that meet it.

They were found once and are kept in a file, so that who has no anjana still has its levels.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pramana_core.mixed.table import MixedTable
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.full_domain import Cells, hierarchies_of
from pramana_core.model_sharing.requirements import Requirement

PUBLISHED = Path(__file__).with_name("published.json")

REQUIREMENTS = tuple(
    Requirement(c=c, l=diverse) for diverse in (2, 3, 4, 5) for c in (20.0, 15.0, 10.0, 5.0)
)
"""Every (c, l) of section 4.2, from the weakest on."""

Levels = dict[str, int]


def label(requirement: Requirement) -> str:
    """Return a requirement as it is called in the file."""
    return f"k={requirement.k or 1:g} c={requirement.c or 0:g} l={requirement.l or 1}"


@dataclass(frozen=True)
class RecordedLevels:
    """Levels that a publisher chose, by requirement; checked anew on the records at hand.

    Where several were recorded for a requirement, those are taken that were chosen most often
    among those that the records meet it at.

    Attributes:
        found: for each requirement's `label` the levels of all its publications, None for nothing.
        name: the publisher that found them.
    """

    found: Mapping[str, Sequence[Levels | None]]
    name: str = "anjana"

    @classmethod
    def read(cls, path: Path, table: str) -> RecordedLevels:
        """Return what is recorded of a table. Raises OSError, ValueError, KeyError."""
        kept: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return cls(kept["tables"][table], f"{kept['publisher']} {kept['version']}")

    def publish(
        self,
        schema: TreeSchema,
        table: MixedTable,
        classes: npt.NDArray[np.intp],
        requirements: Sequence[Requirement],
    ) -> list[Levels | None]:
        """See `Publisher`. Raises KeyError for a requirement of which nothing is recorded."""
        hierarchies = hierarchies_of(schema)
        cells = Cells.of(hierarchies, schema.read(table), classes, schema.classes)
        return [self._levels(cells, requirement) for requirement in requirements]

    def _levels(self, cells: Cells, requirement: Requirement) -> Levels | None:
        names = [h.attribute.name for h in cells.hierarchies]
        chosen = [levels for levels in self.found[label(requirement)] if levels is not None]
        ranked = sorted(chosen, key=lambda levels: -chosen.count(levels))
        for levels in ranked:
            if cells.groups([levels[name] for name in names]).meet(requirement):
                return dict(levels)
        return None


def recorded(table: str) -> RecordedLevels:
    """Return the levels at which anjana published a table (`make publishing-peer`)."""
    return RecordedLevels.read(PUBLISHED, table)

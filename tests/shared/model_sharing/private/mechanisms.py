"""Noise that follows a script and keeps the probabilities, so that all outcomes can be listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana_core.domain import Variable
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable, NumericColumn
from pramana_core.model_sharing.attributes import CategoricalAttribute, NumericAttribute, TreeSchema
from pramana_core.model_sharing.private import PrivateTree, choice_probabilities, grow_private_tree
from pramana_core.model_sharing.private_options import PrivateOptions

SCHEMA = TreeSchema(
    Variable("y", ("no", "yes")),
    (CategoricalAttribute("x", ("a", "b", "c")), NumericAttribute("z", 0, 2)),
)
Record = tuple[int, float, int]
"""A record: the category, the number, the class."""

RECORDS: tuple[Record, ...] = tuple(
    (x, z, y) for x in range(3) for z in (0.5, 1.5) for y in range(2)
)


@dataclass
class Script:
    """Takes the places it is told to and then the first, adds nothing, and keeps what it was asked.

    `factor` multiplies every epsilon: that of a mechanism that was calibrated wrongly.
    """

    places: Sequence[int]
    factor: float = 1.0
    asked: list[Floats] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def laplace(self, scale: float) -> int:
        """Return 0, and keep the scale."""
        self.scales.append(scale / self.factor)
        return 0

    def choose(self, scores: Floats, epsilon: float) -> int:
        """Return the next place, and keep the probabilities of all."""
        number = len(self.asked)
        self.asked.append(choice_probabilities(scores, self.factor * epsilon))
        return self.places[number] if number < len(self.places) else 0


def table_of(records: Sequence[Record]) -> tuple[MixedTable, np.ndarray]:
    """Return records as a table and their classes."""
    x, z, y = zip(*records, strict=True)
    columns = (
        CategoricalColumn("x", np.array(x, dtype=np.intp), ("a", "b", "c")),
        NumericColumn("z", np.array(z, dtype=np.float64)),
    )
    return MixedTable(columns, len(records)), np.array(y, dtype=np.intp)


def outcomes(
    records: Sequence[Record], epsilon: float, options: PrivateOptions, factor: float = 1.0
) -> Iterator[tuple[tuple[int, ...], float, PrivateTree, float]]:
    """Return every structure a private tree may get.

    Each comes as the places that were chosen, the logarithm of its probability, the tree with its
    counts as they are, and the scale of their noise.
    """
    table, classes = table_of(records)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        places = waiting.pop()
        script = Script(places, factor)
        grown = grow_private_tree(SCHEMA, table, classes, epsilon, script, options)
        taken = places + (0,) * (len(script.asked) - len(places))
        for number in range(len(places), len(taken)):
            waiting += [(*taken[:number], k) for k in range(1, len(script.asked[number]))]
        chances = [float(p[k]) for p, k in zip(script.asked, taken, strict=True)]
        yield taken, float(np.log(chances).sum()), grown, script.scales[0]

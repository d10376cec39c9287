"""Which records of a sampled block are drawn together: those that report by the same channel.

Thousands of choices share a channel or a few. What a record reports depends on its own words alone,
so that records of different choices can be drawn in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from owner_agent.randomize.unit_sampling import rows_by_label
from pramana_core.channels import Choice, Transition
from pramana_core.wire.parts import code_dtype

_CODES = 1 << 25
"""About so many codes are held beside the table."""

_FEWEST = 1 << 14
"""So many records are drawn together, however many variables they have."""

Places = npt.NDArray[np.intp]
Together = tuple[Transition, tuple[int, ...], list[Places], Places]
"""A channel, its variables' sizes, the place of each of them for each record, and the records."""


@dataclass(frozen=True, eq=False)
class ChoiceGroups:
    """A sampled channel's choices by their channels and sizes.

    Attributes:
        withheld: the code of "withheld" of each variable, variables x 1.
        kinds: the different channels, each with the sizes of its variables.
        kind_of: the kind of each choice, and one more where nothing was chosen.
        axes: the variables of each choice, choices x the most in one.
    """

    withheld: npt.NDArray[np.unsignedinteger]
    kinds: tuple[tuple[Transition, tuple[int, ...]], ...]
    kind_of: Places
    axes: Places

    @classmethod
    def of(cls, choices: Sequence[Choice], sizes: Sequence[int]) -> ChoiceGroups:
        """Find out which choices are alike."""
        kinds: dict[tuple[Transition, tuple[int, ...]], int] = {}
        axes = np.zeros((len(choices), max(len(c.axes) for c in choices)), dtype=np.intp)
        kind_of = np.empty(len(choices) + 1, dtype=np.intp)
        for index, choice in enumerate(choices):
            inner = tuple(sizes[axis] for axis in choice.axes)
            kind_of[index] = kinds.setdefault((choice.channel, inner), len(kinds))
            axes[index, : len(inner)] = choice.axes
        kind_of[-1] = len(kinds)
        withheld = np.array(sizes, dtype=code_dtype(max(sizes) + 1))[:, None]
        return cls(withheld, tuple(kinds), kind_of, axes)

    def parts(self, records: int) -> Iterator[slice]:
        """Yield as many records at a time as are drawn together."""
        rows = max(_FEWEST, _CODES // len(self.withheld))
        for start in range(0, records, rows):
            yield slice(start, min(records, start + rows))

    def rows(self, chosen: npt.NDArray[np.integer]) -> Iterator[Together]:
        """Yield what records report, those of one channel together, without those of no choice.

        Args:
            chosen: the records' choices; the number of choices for none.
        """
        for kind, rows in rows_by_label(self.kind_of[chosen], len(self.kinds)):
            channel, inner = self.kinds[kind]
            axes = self.axes[chosen[rows]]
            yield channel, inner, [axes[:, place] for place in range(len(inner))], rows

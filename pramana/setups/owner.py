"""Randomize as an owner does, with keys that derive from a seed.

The reports come from `owner_agent.randomize.reports` and nothing else, so that a figure or a
simulation made from them tests the product and not a copy of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.state.keys import Secrets
from pramana_core.channels import Coordinated
from pramana_core.domain import Variable
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.wire.parts import Pseudonyms, code_dtype

STUDY = "reproduce"
"""The name enters every draw: with another one the published figures would not come out again."""


@dataclass(frozen=True)
class SeededOwner:
    """An owner of some records whose secrets derive from a seed: for experiments only."""

    label: str
    keys: Pseudonyms

    @classmethod
    def of(cls, name: str, seed: int, records: int) -> SeededOwner:
        """Make the owner of an experiment with that many records."""
        label = f"{name} {seed}"
        return cls(label, pseudonyms(_secrets(label, 0), STUDY, map(str, range(records))))

    def report(self, plan: Plan, columns: Mapping[str, Codes], run: int = 0) -> ReportedCounts:
        """Randomize the first records and count the reports.

        Args:
            plan: what to do.
            columns: true codes by variable, all of one length, at most the owner's records.
            run: every run has a draw key of its own, so that its draws are independent.
        """
        length = len(next(iter(columns.values())))
        secrets = _secrets(self.label, run)
        # The coin of a study plan is the same in every run of a study.
        coined = any(isinstance(block.channel, Coordinated) for block in plan.blocks)
        study = f"{STUDY} {run}" if coined else STUDY
        released = randomize(plan, secrets, study, self.keys[:length], columns)
        return ReportedCounts(released.columns, plan.reported_sizes)


def numbered(name: str, size: int) -> Variable:
    """Return a variable with categories 1 to `size`, as the papers number them."""
    return Variable(name, tuple(str(k + 1) for k in range(size)))


def draw_cells(
    pmf: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    names: tuple[str, ...],
    records: int,
    rng: np.random.Generator,
) -> dict[str, Codes]:
    """Draw records from a joint probability table, one axis per name; returns their codes."""
    cells = rng.choice(pmf.size, size=records, p=pmf.ravel())
    axes = np.unravel_index(cells, pmf.shape)
    return {
        name: axis.astype(code_dtype(size))
        for name, axis, size in zip(names, axes, pmf.shape, strict=True)
    }


def _secrets(label: str, run: int) -> Secrets:
    return Secrets(
        draw=hashlib.sha256(f"draw {label} {run}".encode()).digest(),
        linkage=hashlib.sha256(f"linkage {label}".encode()).digest(),
    )

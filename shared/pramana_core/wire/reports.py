"""Single records on the wire: the published plan, and batches of reports (Ma 1.4).

Where each person holds one record, only that person randomizes it, and gateways pass reports on. A
report is a row of codes, one of each variable in the plan's order. Rows are counted as cells: bytes
of one width, whose order is that of the codes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StringConstraints

from pramana_core.errors import InputError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.privacy import record_loss
from pramana_core.wire.base import Label, Message, Name, Sha256
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.parts import code_dtype
from pramana_core.wire.privacy import AmplificationMessage

CLIENTS = "clients"
"""The name in a study of the people who hold one record each, if no other is chosen."""

MAX_BATCH = 1 << 20
"""No miner takes more reports at once, whatever its settings."""

BatchId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{16,64}$", strict=True)]
"""A gateway's name for a batch, chosen at random: 16 to 64 letters, digits and `. _ -`."""

Code = Annotated[int, Field(ge=0, lt=1 << 64, strict=True)]

ReportsState = Literal["open", "closed", "withdrawn"]
"""Reports of a study are taken, are taken no more, or were deleted."""


class ReportPlanCreate(Message):
    """The plan to be published; `owner` is what the study calls the holders of single records."""

    owner: Name = CLIENTS
    plan: PlanMessage


class PublishedPlan(Message):
    """The plan by which everybody randomizes the one record she has.

    `record` is the most that a report tells of a record, whatever else is known, beside variables
    that are reported `as_they_are`.
    """

    study: Name
    owner: Name
    state: ReportsState
    plan_digest: Sha256
    record: AmplificationMessage
    as_they_are: list[Label]
    plan: PlanMessage

    @classmethod
    def of(cls, study: str, owner: str, state: ReportsState, plan: Plan) -> PublishedPlan:
        """Return what is told of a plan. Raises LimitExceeded: its loss cannot be computed."""
        public = [name for b in plan.blocks if b.channel.is_identity for name in b.names]
        return cls(
            study=study,
            owner=owner,
            state=state,
            plan_digest=plan.digest,
            record=AmplificationMessage.of(record_loss(plan)),
            as_they_are=public,
            plan=PlanMessage.from_plan(plan),
        )


class SingleReport(Message):
    """What was reported of one record, for ever: a code of each variable, in the plan's order."""

    study: Name
    plan_digest: Sha256
    codes: Annotated[list[Code], Field(min_length=1)]


class ReportBatch(Message):
    """Reports made by the plan of this digest, one row each: a code of each variable, in the plan's
    order. The same `batch` with the same rows counts once, however often it is sent."""

    batch: BatchId
    plan_digest: Sha256
    reports: Annotated[list[list[Code]], Field(min_length=1, max_length=MAX_BATCH)]


class BatchReceipt(Message):
    """A batch of so many reports is counted and on disk."""

    study: Name
    batch: BatchId
    records: int


class GatewayCount(Message):
    """What one gateway brought."""

    gateway: Name
    batches: int
    records: int


class ReportCounts(Message):
    """How many reports of single records there are, by which plan.

    `combinations` are the different rows among them; only how often each was reported is stored.
    `release` is the release of the reports that jobs use, `released` how many are in it.
    """

    study: Name
    owner: Name
    state: ReportsState
    plan_digest: Sha256
    record: AmplificationMessage
    records: int
    combinations: int
    gateways: list[GatewayCount]
    release: str | None
    released: int


@dataclass(frozen=True)
class CellFormat:
    """How a row of codes becomes bytes: each code in the fewest bytes, the highest first.

    Attributes:
        sizes: the number of codes of each variable, in order.
    """

    sizes: Mapping[str, int]

    @classmethod
    def of(cls, plan: Plan) -> CellFormat:
        """Return the cells of reports made by a plan."""
        return cls(plan.reported_sizes)

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """A field of each variable, without gaps."""
        each = (code_dtype(size).newbyteorder(">") for size in self.sizes.values())
        return np.dtype([(f"f{place}", one) for place, one in enumerate(each)])

    @property
    def width(self) -> int:
        """The bytes of a cell."""
        return self.dtype.itemsize

    def pack(self, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.void]:
        """Return rows of codes as cells.

        Raises InputError, which names the row by its place from 0 and the variable: too many or too
        few codes, or one that its variable does not have.
        """
        for place, row in enumerate(rows):
            if len(row) != len(self.sizes):
                raise InputError(
                    f"Report {place} has {len(row)} codes; the plan has {len(self.sizes)}"
                    " variables. Nothing of the batch was counted.",
                    where=f"reports[{place}]",
                    remedy="Send one code of each variable, in the plan's order.",
                )
        codes = np.array(rows, dtype=np.uint64)
        sizes = np.array(list(self.sizes.values()), dtype=object)
        largest = np.array([size - 1 for size in sizes], dtype=np.uint64)
        wrong = codes > largest
        if wrong.any():
            place, axis = (int(first) for first in np.argwhere(wrong)[0])
            name = list(self.sizes)[axis]
            raise InputError(
                f"Report {place} has code {int(codes[place, axis])} of {name!r}, which has"
                f" {sizes[axis]} codes; {int(wrong.any(axis=1).sum())} reports of the batch have"
                " such a code. Nothing of it was counted.",
                where=f"reports[{place}].{name}",
                remedy="Send what `pramana.report` made, under the plan that the study published.",
            )
        return self._cells([codes[:, axis] for axis in range(len(sizes))])

    def _cells(self, columns: Sequence[Codes]) -> npt.NDArray[np.void]:
        cells = np.empty(len(columns[0]), dtype=self.dtype)
        for field, column in zip(self.dtype.names or (), columns, strict=True):
            cells[field] = column
        return cells

    def unpack(self, cells: npt.NDArray[np.void]) -> dict[str, Codes]:
        """Return the codes of cells by variable, each in the narrowest type."""
        fields = zip(self.sizes.items(), self.dtype.names or (), strict=True)
        return {name: cells[field].astype(code_dtype(size)) for (name, size), field in fields}

    def counted(self, cells: npt.NDArray[np.void]) -> dict[bytes, int]:
        """Return how often each cell is there, ascending."""
        whole = np.ascontiguousarray(cells).view(f"V{self.width}")
        # Sorted as strings of one width, which numpy compares byte by byte; bytes of zero at the
        # end, which it would strip, are given back.
        order = np.sort(whole.view(f"S{self.width}"))
        starts = np.flatnonzero(np.concatenate([[True], order[1:] != order[:-1]]))
        numbers = np.diff(starts, append=len(order))
        each = (bytes(one).ljust(self.width, b"\0") for one in order[starts])
        return dict(zip(each, numbers.tolist(), strict=True))


def batch_key(study: str, gateway: str, batch: str) -> str:
    """Return what a batch is known by: nobody finds the gateway's name for it, if it is random."""
    said = "\0".join(["pramana/batch/1", study, gateway, batch])
    return hashlib.sha256(said.encode()).hexdigest()


def batch_digest(batch: str, cells: npt.NDArray[np.void]) -> str:
    """Return a MAC of a batch's rows under its name, which is not stored.

    A plain hash of a few reports would give them away to whoever tries them all.
    """
    return hmac.new(batch.encode(), cells.tobytes(), hashlib.sha256).hexdigest()

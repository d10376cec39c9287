"""Single records on the wire: the published plan, and batches of reports (Ma 1.4).

Each person has one record and randomizes it before a gateway forwards the report. A report is a row
of codes, one for each variable in the plan's order. Rows are counted as cells: bytes of one width,
in the order of the codes.
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
"""The default name, in a study, of the people who have one record each."""

MAX_BATCH = 1 << 20
"""The largest batch of reports that a miner accepts, whatever its settings."""

BatchId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{16,64}$", strict=True)]
"""A gateway's name for a batch, chosen at random: 16 to 64 letters, digits and `. _ -`."""

Code = Annotated[int, Field(ge=0, lt=1 << 64, strict=True)]

ReportsState = Literal["open", "closed", "withdrawn"]
"""The state of a study's reports: accepted, no longer accepted, or deleted."""


class ReportPlanCreate(Message):
    """The plan to publish. The study uses the name `owner` for the people with single records."""

    owner: Name = CLIENTS
    plan: PlanMessage


class PublishedPlan(Message):
    """The plan by which each person randomizes their one record.

    `record` bounds the loss of a record against any prior knowledge, except for variables that are
    reported `as_they_are`.
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
        """Return the published form of a plan. Raises LimitExceeded: its loss is not computable."""
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
    """The permanent report of one record: a code for each variable, in the plan's order."""

    study: Name
    plan_digest: Sha256
    codes: Annotated[list[Code], Field(min_length=1)]


class ReportBatch(Message):
    """Reports by the plan with this digest, one row each: a code per variable, in plan order.

    The same `batch` with the same rows counts once, however often it is sent.
    """

    batch: BatchId
    plan_digest: Sha256
    reports: Annotated[list[list[Code]], Field(min_length=1, max_length=MAX_BATCH)]


class BatchReceipt(Message):
    """The receipt for a batch of reports, which are counted and on disk."""

    study: Name
    batch: BatchId
    records: int


class GatewayCount(Message):
    """The reports from one gateway."""

    gateway: Name
    batches: int
    records: int


class ReportCounts(Message):
    """The count of reports of single records, and their plan.

    `combinations` counts the distinct rows; only the count of each row is stored. Jobs use the
    release `release` of the reports, which has `released` reports.
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
    """The encoding of a row of codes as bytes: each code in the fewest bytes, highest byte first.

    Attributes:
        sizes: the count of codes of each variable, in order.
    """

    sizes: Mapping[str, int]

    @classmethod
    def of(cls, plan: Plan) -> CellFormat:
        """Return the cell format of reports by a plan."""
        return cls(plan.reported_sizes)

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """A field for each variable, without gaps."""
        each = (code_dtype(size).newbyteorder(">") for size in self.sizes.values())
        return np.dtype([(f"f{place}", one) for place, one in enumerate(each)])

    @property
    def width(self) -> int:
        """The size of a cell in bytes."""
        return self.dtype.itemsize

    def pack(self, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.void]:
        """Return rows of codes as cells.

        Raises InputError, which names the row by its index from 0 and the variable: too many or too
        few codes, or a code outside its variable's range.
        """
        for place, row in enumerate(rows):
            if len(row) != len(self.sizes):
                raise InputError(
                    f"Report {place} has {len(row)} codes; the plan has {len(self.sizes)}"
                    " variables. The batch was not counted.",
                    where=f"reports[{place}]",
                    remedy="Send one code for each variable, in the plan's order.",
                )
        codes = np.array(rows, dtype=np.uint64)
        sizes = np.array(list(self.sizes.values()), dtype=object)
        largest = np.array([size - 1 for size in sizes], dtype=np.uint64)
        wrong = codes > largest
        if wrong.any():
            place, axis = (int(first) for first in np.argwhere(wrong)[0])
            name = list(self.sizes)[axis]
            raise InputError(
                f"Report {place} has code {int(codes[place, axis])} for {name!r}, which has"
                f" {sizes[axis]} codes; {int(wrong.any(axis=1).sum())} reports of the batch have"
                " such a code. The batch was not counted.",
                where=f"reports[{place}].{name}",
                remedy="Send reports from `pramana.report` with the plan that the study published.",
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
        """Return the count of each distinct cell, in ascending order."""
        whole = np.ascontiguousarray(cells).view(f"V{self.width}")
        # Sorted as strings of one width, compared byte by byte; final zero bytes are restored.
        order = np.sort(whole.view(f"S{self.width}"))
        starts = np.flatnonzero(np.concatenate([[True], order[1:] != order[:-1]]))
        numbers = np.diff(starts, append=len(order))
        each = (bytes(one).ljust(self.width, b"\0") for one in order[starts])
        return dict(zip(each, numbers.tolist(), strict=True))


def batch_key(study: str, gateway: str, batch: str) -> str:
    """Return the key under which a batch is stored. It hides the name that the gateway chose."""
    text = "\0".join(["pramana/batch/1", study, gateway, batch])
    return hashlib.sha256(text.encode()).hexdigest()


def batch_digest(batch: str, cells: npt.NDArray[np.void]) -> str:
    """Return a MAC of a batch's rows. The key is the batch's name, which is not stored.

    A plain hash of a few reports would reveal the reports to a reader who tries all possibilities.
    """
    return hmac.new(batch.encode(), cells.tobytes(), hashlib.sha256).hexdigest()

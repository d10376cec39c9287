"""Randomized records together with their plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pramana.frames.sentences import listed, warn_caller
from pramana.frames.tables import Frame, as_frame, shown
from pramana.reporting.disclosure import BlockDraw, in_words, privacy_frame, public_names
from pramana.reporting.files import (
    not_what_was_saved,
    read_contents,
    write_contents,
)
from pramana.reporting.labels import read_labels, write_labels
from pramana_core.domain import Domain
from pramana_core.errors import (
    DuplicateRecordId,
    EmptyTable,
    OptionError,
    PlanError,
    PramanaError,
    TableError,
)
from pramana_core.estimation.plausibility import examine
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Plan
from pramana_core.privacy import (
    DELTA,
    PRIOR,
    Amplification,
    ShuffledReport,
    central_loss,
    known_set_loss,
    record_loss,
    smallest_group,
)
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.parts import Pseudonyms, key_order, records_digest, strictly_ascending

if TYPE_CHECKING:
    import pandas as pd

PSEUDONYM = "pseudonym"
"""The name of the index of a frame of reports that contains the pseudonyms."""


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """Randomized records, and the plan by which they were randomized.

    `pm.randomize` makes reports from true records, `from_frame` reads reports from a frame, and
    `pm.join` joins columns of several owners. `Reports` contain no true values of randomized
    variables.

    Attributes:
        plan: the transition matrices, by block.
        codes: N reported codes per variable; a code above those of the categories means that the
            value was withheld.
        pseudonyms: N pseudonyms of 128 bits, ascending; None if absent.
        draws: the draws of each block; None if unknown (see `pm.accountant`).
        study: the study of the reports; None if unknown.
        joined: whether the blocks are of several releases.

    Raises PlanError, TableError, EmptyTable.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("berkeley")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> reports = pm.randomize(
        ...     people, pm.plan(domain, p=0.2), pm.Keys.for_experiments(1), record_id=people.index
        ... )
        >>> reports
        Reports(4,526 records of department, sex, admitted; whole record: gamma 320, epsilon 5.769)
        >>> len(reports), round(reports.epsilon, 2)
        (4526, 5.77)
    """

    plan: Plan
    codes: Mapping[str, Codes]
    pseudonyms: Pseudonyms | None = None
    draws: tuple[BlockDraw, ...] | None = None
    study: str | None = None
    joined: bool = False

    def __post_init__(self) -> None:
        require_plan(self.plan)
        sizes = self.plan.reported_sizes
        _require_arrays(self.codes, self.pseudonyms)
        if set(self.codes) != set(sizes):
            raise PlanError(
                f"codes must have the plan's variables {list(sizes)}, not {list(self.codes)}.",
                where="codes",
            )
        lengths = {len(codes) for codes in self.codes.values()}
        if self.pseudonyms is not None:
            lengths.add(len(self.pseudonyms))
        if len(lengths) > 1:
            raise TableError(
                f"codes must have the same length for all variables, not {sorted(lengths)}.",
                where="codes",
            )
        if lengths == {0}:
            raise EmptyTable("codes must have at least one record.", where="codes")
        beyond = [name for name, size in sizes.items() if int(np.max(self.codes[name])) >= size]
        if beyond:
            raise PlanError(
                f"codes of {', '.join(map(repr, beyond))} are outside the plan's range.",
                where="codes",
            )
        if self.pseudonyms is not None and not strictly_ascending(self.pseudonyms):
            raise TableError(
                "pseudonyms must be in ascending order, each only once.", where="pseudonyms"
            )

    @classmethod
    def from_frame(cls, frame: Frame, plan: Plan) -> Reports:
        """Build reports from a frame with one row per record and labels as `to_frame` writes them.

        Empty cells count as withheld if the plan withholds the variable from some records. If the
        index is called `pseudonym`, the rows are sorted by it. A UserWarning is issued if the plan
        is unlikely to have produced these reports. The test detects most frames of true values, and
        warns of at most one correct frame in 1,000.

        Args:
            frame: the reported labels; other columns are ignored.
            plan: the plan of the reports.

        Raises TableError, MissingColumn, UnknownCategory, PlanError.

        Examples:
            >>> import pramana as pm
            >>> plan = pm.plan(pm.Domain.of(sex=["f", "m"]), p=0.1)
            >>> pm.Reports.from_frame({"sex": ["f", "m", "m"]}, plan)
            Reports(3 records of sex; whole record: gamma 9, epsilon 2.198)
        """
        codes = read_labels(require_plan(plan), frame, "frame")
        _warn_of_misfits(codes, plan)
        index = as_frame(frame, "frame").index
        if index.name != PSEUDONYM:
            return cls(plan, codes)
        pseudonyms = _pseudonyms(index)
        try:
            order = key_order(pseudonyms)
        except DuplicateRecordId:
            raise DuplicateRecordId(
                "frame has the same pseudonym in two rows; it must have one row per record.",
                where="frame",
            ) from None
        return cls(plan, {n: c[order] for n, c in codes.items()}, pseudonyms[order])

    @classmethod
    def load(cls, path: str | Path) -> Reports:
        """Read reports that `save` wrote. Raises TableError, StoreCorrupt."""
        fields, digest = read_contents(path)
        try:
            reports = cls(**fields)
            if reports.digest == digest:
                return reports
        except PramanaError:
            pass
        raise not_what_was_saved(path)

    def save(self, path: str | Path) -> None:
        """Write codes, pseudonyms, plan, draws and study to a Parquet file. Raises OptionError."""
        write_contents(self, path)

    @property
    def domain(self) -> Domain:
        """The variables, with their true categories."""
        return self.plan.domain

    @cached_property
    def counts(self) -> ReportedCounts:
        """The reports in the form that estimators count."""
        names = self.plan.domain.names
        return ReportedCounts({n: self.codes[n] for n in names}, self.plan.reported_sizes)

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of plan, pseudonyms and reports, in hexadecimal."""
        return records_digest(self.plan, self.pseudonyms, self.codes)

    @cached_property
    def amplification(self) -> Amplification:
        """The amplification of a person's whole record, over all randomized blocks.

        Of a sampled block, only the set of variables that discloses most counts. Variables reported
        unchanged are ignored, but if no variable is randomized, the amplification is infinite.
        """
        return record_loss(self.plan)

    @property
    def gamma(self) -> float:
        """The amplification of the whole record: the largest change of any odds (Ma 3.1)."""
        return self.amplification.gamma

    @property
    def epsilon(self) -> float:
        """The natural logarithm of `gamma`: the epsilon of local differential privacy."""
        return self.amplification.epsilon

    def central_epsilon(self, delta: float = DELTA, *, known_set: bool = False) -> float:
        """Return the central epsilon at `delta`, against anyone who cannot link reports to people.

        The bound covers these reports alone. It assumes that pseudonyms are secret, and hides a
        record among all records with the same unchanged values. Joined reports have a larger bound,
        unless they are of one study plan, because later plans may depend on earlier reports. With
        `known_set`, the bound is against readers who also know beforehand which set of variables
        the record reports. Raises OptionError.
        """
        require_limit(delta, InnerShare, "delta")
        public = [self.codes[name] for name in public_names(self.plan)]
        records = smallest_group(public) if public else len(self)
        report = ShuffledReport.of(self.plan, adaptive=self.joined)
        known = known_set_loss(report, records, delta) if known_set else None
        return (known or central_loss(report, records, delta)).epsilon

    def privacy(self, prior: float = PRIOR) -> pd.DataFrame:
        """Return the disclosure of each variable, one row each.

        Columns: `together`, the block of the variable; `channel`, in words; `reported`, the share
        of records that report the variable; `kept`, the probability that a true value is reported
        unchanged (per item for sets of items; the largest if it depends on the true value; NaN if
        undefined); `gamma` and `epsilon` of the block; `posterior`, the largest belief that a prior
        belief of `prior`, above 0 and below 1, can become (Ma 3.1.2). Raises OptionError.
        """
        require_limit(prior, InnerShare, "prior")
        return privacy_frame(self.plan, prior)

    def to_frame(self, *, pseudonyms: bool = False) -> pd.DataFrame:
        """Return the reports as labels, one row per record in the order of pseudonyms.

        Withheld values are missing (NaN). A variable whose channel reports sets of items (`OneHot`,
        `CutAndPaste`) has one column of true and false per category, `variable=category`.

        Args:
            pseudonyms: whether the index contains the pseudonyms, 32 hexadecimal digits each.

        Raises OptionError.
        """
        require_limit(pseudonyms, bool, "pseudonyms")
        frame = write_labels(self.plan, self.codes)
        if not pseudonyms:
            return frame
        if self.pseudonyms is None:
            raise OptionError(
                "These reports have no pseudonyms; pass pseudonyms=False.", where="pseudonyms"
            )
        raw = self.pseudonyms.tobytes().hex()
        width = 2 * KEY_BYTES
        frame.index = [raw[start : start + width] for start in range(0, len(raw), width)]
        return frame.rename_axis(PSEUDONYM)

    def __repr__(self) -> str:
        names = listed(self.domain.names)
        return f"Reports({len(self):,} records of {names}; {in_words(self.plan)})"


def require_plan(plan: object, argument: str = "plan") -> Plan:
    """Return the argument if it is a plan. Raises PlanError for other objects."""
    if not isinstance(plan, Plan):
        raise PlanError(
            f"{argument} must be a Plan, such as design.plan, not {shown(plan)}.", where=argument
        )
    return plan


def _require_arrays(codes: object, pseudonyms: object) -> None:
    columns = list(codes.values()) if isinstance(codes, Mapping) else [None]
    if not all(isinstance(column, np.ndarray) and column.ndim == 1 for column in columns):
        raise TableError(
            "codes must be a dict with an array of codes for each variable;"
            " pm.Reports.from_frame(frame, plan) reads labels.",
            where="codes",
        )
    known = pseudonyms is None or (
        isinstance(pseudonyms, np.ndarray) and pseudonyms.dtype == f"V{KEY_BYTES}"
    )
    if not known:
        raise TableError(
            f"pseudonyms must be an array of {KEY_BYTES} bytes each, not {shown(pseudonyms)}.",
            where="pseudonyms",
        )


def require_reports(reports: object, argument: str = "reports") -> Reports:
    """Return the argument if it is `Reports`. Raises TableError for other objects."""
    if not isinstance(reports, Reports):
        raise TableError(
            f"{argument} must be Reports, as pm.randomize returns them, not {shown(reports)}.",
            where=argument,
        )
    return reports


def _pseudonyms(index: pd.Index) -> Pseudonyms:
    try:
        digits = index.tolist()
        lengths = set(map(len, digits))
        raw = bytes.fromhex("".join(digits))
    except (TypeError, ValueError):
        raw, lengths = b"", set()
    # Spaces would be dropped from the digits.
    if lengths != {2 * KEY_BYTES} or len(raw) != KEY_BYTES * len(index):
        raise TableError(
            "frame's index is called 'pseudonym' and must have 32 hexadecimal digits in each row,"
            " as to_frame(pseudonyms=True) writes them.",
            where="frame",
        )
    return np.frombuffer(raw, dtype=f"V{KEY_BYTES}")


def _warn_of_misfits(codes: Mapping[str, Codes], plan: Plan) -> None:
    if all(block.channel.is_identity for block in plan.blocks):
        return
    # The frame may be sorted by its reported values.
    order = np.random.default_rng(0).permutation(len(next(iter(codes.values()))))
    found = examine({name: column[order] for name, column in codes.items()}, plan)
    if found.inconsistent:
        warn_caller(
            f"plan is unlikely to have randomized frame (p = {found.p_value:.0e}, by"
            f" {' and '.join(found.worst)}); frame may contain true values or have another plan."
        )

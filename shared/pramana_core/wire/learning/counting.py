"""What all jobs have in common, and the job that only counts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pramana_core.wire.base import MAX_VARIABLES, Label, Message

Variables = Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)]


class CountsSpec(Message):
    """Which records a job counts, and how the true counts are estimated.

    `estimator` is that of the counts: by moments, by maximum likelihood, by a log-linear model with
    interactions of up to `order` variables, or pooled over all sets of variables that hold them, of
    up to `order` variables that interact. The last two can tell tables that no record reports
    whole; the log-linear model is of few variables, the pooled tables are of few out of hundreds.
    An `order` that is left out follows the records: a table of up to 8 variables that they report
    together is told with all interactions, others by those of fewer. Of pooled tables the job says
    which it is, of itemsets and log-linear models it hangs on the table.
    `records` says what to do if the owners' records are not the same set: refuse
    (`identical`), use only those at every owner (`common`), or use all (`any`): what an owner does
    not report of a record is missing there, by no fault of its value, and several owners may report
    one variable of different records. Where a variable is missing of some records, `any` needs the
    estimator `ml` or `pooled`.
    """

    estimator: Literal["moment", "ml", "log-linear", "pooled"] = "moment"
    order: Annotated[int | None, Field(ge=1, le=8, strict=True)] = None
    records: Literal["identical", "common", "any"] = "identical"

    @property
    def models(self) -> bool:
        """Whether the estimator may make tables of smaller ones."""
        return self.estimator in ("log-linear", "pooled")

    @property
    def interacting(self) -> int:
        """The order; 2 where it is not settled yet."""
        return self.order or 2


class ContingencyTableSpec(CountsSpec):
    """Estimate how many records have each combination of categories of some variables."""

    kind: Literal["contingency-table"]
    variables: Variables

"""Regression on masked releases: what is asked of the miner, and what is answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pramana_core.regression.options import RegressionOptions
from pramana_core.wire.base import Label, Message
from pramana_core.wire.learning.counting import Variables
from pramana_core.wire.learning.options import WithOptions, options_from, options_in


class RecordsSpec(Message):
    """Which records a job uses that learns from records as they are, and not from counts.

    `records` says what to do if the owners' records are not the same set: refuse (`identical`), use
    only those at every owner (`common`), or use all (`any`), of which each must have every column.
    """

    records: Literal["identical", "common", "any"] = "identical"


@options_from(RegressionOptions)
class _Fitted(WithOptions):
    kind: Literal["regression"]
    target: Label
    features: Variables | None = None

    def options(self) -> RegressionOptions:
        """Return how the regression is fitted. Raises OptionError."""
        return options_in(self, RegressionOptions)


class RegressionSpec(_Fitted, RecordsSpec):
    """Learn how a numeric column depends on others, from masked records.

    `target` is the column and `features` what it is explained by, by default all others. `model` is
    `linear` or `polynomial` (least squares; powers up to `degree`, with `interactions` also
    products of columns), `kernel` (any smooth relationship) or `tree` (of at most `max_depth`
    questions, with at least `min_leaf` records in a leaf). `confidence` is that of all intervals.
    `seed` decides which records are left out together when a model is judged by records that it was
    not fitted to.
    """


class MaskingMessage(Message):
    """How the records of a release were masked, as its owner declares it.

    `masked` are the columns that hold no true values of their records, `copies` how many masked
    tables were released.
    """

    release: str
    owner: str
    method: str
    masked: list[str]
    copies: Annotated[int, Field(ge=1)]

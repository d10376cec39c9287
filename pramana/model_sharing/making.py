"""What combined trees are made by and told of: options, the saved form, the source, pseudo-data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

from pydantic import Field, ValidationError

from pramana.estimators.saved import LearnedFrom, plain
from pramana.frames.tables import shown
from pramana_core.errors import InputError, OptionError
from pramana_core.learn.common.documents import DocumentPart, faults
from pramana_core.mixed.table import CategoricalColumn, MixedTable
from pramana_core.model_sharing.combination.combining import CombineOptions, Method, generation_for
from pramana_core.model_sharing.combination.votes import VoteOptions
from pramana_core.model_sharing.global_models.options import GlobalOptions

if TYPE_CHECKING:
    import pandas as pd

_LARGEST = 700.0
"""Beyond it the amplification is no floating-point number."""

_NUMBERS = ("scale", "smoothing", "product_leaves")
"""Options that must be numbers, which the packages below compare without asking."""


class SavedTrees(DocumentPart):
    """What is saved of combined trees: the model, and what it was made of."""

    model: dict[str, Any]
    trees: int = Field(ge=1)
    pseudo_records: int = Field(ge=0)
    notes: list[str]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> SavedTrees:
        """Read what was saved. Raises InputError."""
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise InputError(f"The document holds no combined trees: {faults(error)}.") from None


def combine_options(given: Mapping[str, Any]) -> CombineOptions:
    """Return how trees are combined, from an estimator's options. Raises OptionError."""
    numbers = {name: plain(given[name]) for name in _NUMBERS}
    for name, number in numbers.items():
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise OptionError(f"{name} must be a number, not {shown(number)}.", where=name)
    method: object = given["method"]
    if not isinstance(method, str):
        raise OptionError(
            f"method must be one of {', '.join(get_args(Method))}, not {shown(method)}.",
            where="method",
        )
    drawn = plain(given["pseudo_records"])
    if drawn is not None and (isinstance(drawn, bool) or not isinstance(drawn, int) or drawn < 1):
        raise OptionError(
            "pseudo_records must be a whole number of at least 1, or None for as many as the trees"
            f" count, not {shown(drawn)}.",
            where="pseudo_records",
        )
    learning = {one.name: plain(given[one.name]) for one in fields(GlobalOptions)}
    return CombineOptions(
        method=given["method"],
        model=given["model"],
        generation=generation_for(
            given["method"],
            records=drawn,
            scale=numbers["scale"],
            numeric=given["numeric"],
            absent=given["absent"],
            misses=given["misses"],
            spread=given["spread"],
        ),
        labels=given["labels"],
        votes=VoteOptions(given["weights"], numbers["smoothing"]),
        learning=GlobalOptions(**learning),
        most_leaves=numbers["product_leaves"],
        seed=learning["seed"],
    )


def source_of(records: int, epsilon: float, method: str) -> LearnedFrom:
    """Return what trees were learned from: different people's records, each bounded by epsilon."""
    gamma = math.exp(epsilon) if epsilon < _LARGEST else math.inf
    return LearnedFrom(records, (), gamma, epsilon, method)


def records_frame(table: MixedTable) -> pd.DataFrame:
    """Return records as a frame, categories as such."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column, CategoricalColumn):
            labels: Any = list(column.categories)
            columns[column.name] = pd.Categorical.from_codes(column.codes, labels)
        else:
            columns[column.name] = column.values
    return pd.DataFrame(columns)

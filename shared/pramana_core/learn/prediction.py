"""What predicts a class from a record, and how records of labels and numbers become its codes.

A learned model travels as JSON text and the record stays where it is: the owner and the miner read
the same text and call the same `Predictor`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import CategoryReader, Value, number_of
from pramana_core.errors import InputError, UnknownCategory, UnknownVariable
from pramana_core.marginals.counts import Codes, Tensor


class Predictor(Protocol):
    """A model that predicts the class of a record from other variables."""

    @property
    def inputs(self) -> Domain:
        """The variables that a prediction is made from."""

    @property
    def target(self) -> Variable:
        """The class."""

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs that predictions hang on; a tree does not ask for all."""

    @property
    def sums_out(self) -> bool:
        """Whether it predicts records with missing inputs, by their distribution."""

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records.

        Args:
            codes: the codes of (at least) the inputs by variable, n of each. Where the model sums
                out what is missing, inputs may be left out, and a code equal to the variable's
                number of categories is a missing value.

        Raises:
            UnknownVariable: an input is not there, or none is.
            DomainError: columns of different lengths, or a code outside its variable.
        """

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return the probability of each class, (n, classes); None if the model has none."""


def encode_records(
    domain: Domain, records: Sequence[Mapping[str, Value | None]], *, missing: bool = False
) -> dict[str, Codes]:
    """Return the codes of records given as labels and numbers, n codes per variable.

    A variable whose categories are intervals ("<30", "30-45", ">=45") takes a number, also
    written as text, besides its labels. Any other takes its labels; a number stands for the label
    that is written so, a whole one without decimals. Text is read as the owners read the cells of
    their tables: without the spaces around it, in Unicode NFC, and as a number only if it is
    written in ASCII digits with at most a sign, a point and an exponent. If values may be
    `missing`, the code of one that is absent or None is the variable's number of categories.

    Raises:
        UnknownVariable: a record names a variable that is not in the domain.
        InputError: a record lacks a variable, or its value is neither text nor a finite number.
        UnknownCategory: a value that is not among the variable's.
    """
    for number, record in enumerate(records, start=1):
        for name in record:
            if name not in domain:
                raise UnknownVariable(
                    f"Record {number} has a value of {name!r}, which is not among the variables"
                    f" here{did_you_mean([name], domain.names)}.",
                    where=name,
                    remedy=f"The variables are {list(domain.names)}.",
                )
    return {
        variable.name: _encoded(
            variable, [record.get(variable.name) for record in records], missing=missing
        )
        for variable in domain
    }


def _encoded(variable: Variable, values: Sequence[Value | None], *, missing: bool) -> Codes:
    reader = CategoryReader(variable.categories)
    known: dict[Value | None, int] = {}
    largest = variable.size if missing else variable.size - 1
    codes = np.empty(len(values), dtype=np.min_scalar_type(largest))
    for place, value in enumerate(values):
        if missing and value is None:
            codes[place] = variable.size
            continue
        # True equals 1 but is not a number here; what cannot be looked up is not a value at all.
        code = known.get(value) if type(value) in (str, int, float) else None
        if code is None:
            code = known[value] = _code(variable, reader, value, place + 1)
        codes[place] = code
    return codes


def _code(variable: Variable, reader: CategoryReader, value: Value | None, record: int) -> int:
    """Return a value's code; no message holds the value."""
    if value is None or (not isinstance(value, str) and not math.isfinite(number_of(value))):
        raise InputError(
            f"Record {record} has no value of {variable.name!r} that is text or a finite number.",
            where=variable.name,
            remedy=_wanted(variable, reader.cuts),
        )
    code = reader.code(value)
    if code is not None:
        return code
    raise UnknownCategory(
        f"Record {record} has a value of {variable.name!r} that is not one of its categories.",
        where=variable.name,
        remedy=_wanted(variable, reader.cuts),
    )


def _wanted(variable: Variable, cuts: tuple[float, ...] | None) -> str:
    also = ", or a number" if cuts is not None else ""
    return f"Give one of {list(variable.categories)}{also}."

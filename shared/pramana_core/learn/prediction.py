"""The interface of models that predict a class, and the encoding of a record for such models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from pramana_core.alike import did_you_mean
from pramana_core.domain import Domain, Variable
from pramana_core.encoding import CategoryReader, Value, number_of
from pramana_core.errors import InputError, UnknownCategory, UnknownVariable
from pramana_core.marginals.counts import Codes, Tensor


class Predictor(Protocol):
    """A model that predicts the class of a record from other variables, its inputs."""

    @property
    def inputs(self) -> Domain:
        """The variables from which the model predicts."""

    @property
    def target(self) -> Variable:
        """The class variable."""

    @property
    def options(self) -> Any:
        """The options with which the model was learned."""

    @property
    def used(self) -> tuple[str, ...]:
        """The inputs on which predictions depend; a tree may ignore some inputs."""

    @property
    def sums_out(self) -> bool:
        """Whether the model accepts records with missing inputs, by summing over them."""

    def predict(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the class code of each of n records, from a column of n codes for each input.

        If `sums_out`, columns may be absent, and a code equal to the number of categories means a
        missing value. Raises UnknownVariable, DomainError: an input is absent, lengths differ, or a
        code is outside its variable.
        """

    def probabilities(self, codes: Mapping[str, Codes]) -> Tensor | None:
        """Return class probabilities, (n, classes), or None if the model has none."""


def encode_record(domain: Domain, record: Mapping[str, Value | None]) -> dict[str, Codes]:
    """Return the codes of one record, given as a label or a number for each variable.

    Raises UnknownVariable, InputError: the record has any other variable, lacks one, or has a value
    that is neither text nor a finite number. UnknownCategory: a value is not a category; the
    message does not show the value.
    """
    for name in record:
        if name not in domain:
            raise UnknownVariable(
                f"The record has a value of {name!r}, which is not a variable of the"
                f" model{did_you_mean([name], domain.names)}.",
                where=name,
                remedy=f"The variables are {list(domain.names)}.",
            )
    codes = {}
    for variable in domain:
        value, reader = record.get(variable.name), CategoryReader(variable.categories)
        usable = isinstance(value, str) or math.isfinite(number_of(value))
        code = reader.code(value) if usable and value is not None else None
        if code is None:
            error, what = (
                (UnknownCategory, "a value of {!r} that is not one of its categories")
                if usable
                else (InputError, "no value of {!r} that is text or a finite number")
            )
            also = ", or a number" if reader.cuts is not None else ""
            raise error(
                f"The record has {what.format(variable.name)}.",
                where=variable.name,
                remedy=f"Give one of {list(variable.categories)}{also}.",
            )
        codes[variable.name] = np.array([code], np.min_scalar_type(variable.size - 1))
    return codes

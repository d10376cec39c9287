"""Records of labels and numbers, as somebody asks for predictions of them, as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError, UnknownVariable
from pramana_core.learn.prediction import Value, encode_records
from pramana_core.mixed.table import LARGEST, CategoricalColumn, Column, MixedTable, NumericColumn
from pramana_core.model_sharing.core.attributes import CategoricalAttribute, TreeSchema


def read_records(schema: TreeSchema, records: Sequence[Mapping[str, Value | None]]) -> MixedTable:
    """Return the table of records that give a value to each attribute of a schema.

    Categories are read as `encode_records` reads them, numbers only from numbers.

    Raises:
        UnknownVariable: a record names what is no attribute.
        UnknownCategory, InputError: a value is not one of its attribute's, or absent; it is named
            by its record's number and its attribute alone.
    """
    for number, record in enumerate(records, 1):
        if unknown := [name for name in record if name not in schema.names]:
            raise UnknownVariable(
                f"Record {number} has a value of {unknown[0]!r}, which is no attribute here.",
                where=unknown[0],
                remedy=f"The attributes are {list(schema.names)}.",
            )
    columns: list[Column] = []
    for attribute in schema.attributes:
        name = attribute.name
        if isinstance(attribute, CategoricalAttribute):
            domain = Domain((Variable(name, attribute.categories),))
            codes = encode_records(domain, [{name: record.get(name)} for record in records])[name]
            columns.append(CategoricalColumn(name, codes.astype(np.intp), attribute.categories))
        else:
            numbers = [_number(record.get(name), name, k) for k, record in enumerate(records, 1)]
            columns.append(NumericColumn(name, np.array(numbers, dtype=np.float64)))
    return MixedTable(tuple(columns), len(records))


def _number(value: Value | None, name: str, record: int) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(
            f"Record {record} has no number of {name!r}.",
            where=name,
            remedy="Give every attribute of numbers a finite number.",
        )
    if abs(value) > LARGEST:
        raise InputError(
            f"Record {record} has a number of {name!r} beyond {LARGEST:g}.", where=name
        )
    return float(value)

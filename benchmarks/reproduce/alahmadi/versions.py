"""The store masked by every method, and how far each version keeps the relationships in it.

A relationship is a conditional expectation (AlAhmadi III.1): E(X1 | S), E(X1 | X2), E(X1 | S, X2).
It is kept where that of the masked records, at the true records' values, is that of the true ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduce.engine import Setting
from pramana.setups.relationships import DATASETS, RECORDS
from pramana_core.errors import PramanaError
from pramana_core.mask import METHODS
from pramana_core.mask.measures.core.compared import Kind, expectation
from pramana_core.mixed.design import design_of
from pramana_core.mixed.table import Floats, MixedTable, numeric_table, read_mixed

EXISTING = ("egadp", "shuffle")
"""Those whose effect on a hump the dissertation shows in figure 4."""

PROPOSED = ("nmegadp", "nmegadp-shuffle", "nmegadp-copula", "nmegadp-copula-shuffle")
"""The dissertation's four (its masking methods 1 to 4)."""

QUICK = ("egadp", "shuffle", "nmegadp", "nmegadp-shuffle")
"""Drawn with --quick."""

QUICK_RECORDS = 400


@dataclass(frozen=True, eq=False)
class Version:
    """Records masked by one method.

    Attributes:
        method: its name.
        masked: Y, with the names of X; None where the method refused.
        refusal: why it did.
    """

    method: str
    masked: MixedTable | None
    refusal: str = ""


def names(setting: Setting) -> tuple[str, ...]:
    """Return the methods that a run compares, in the order of their families."""
    return QUICK if setting.quick else tuple(METHODS)


def versions(
    s: MixedTable, x: MixedTable, setting: Setting, stream: str, methods: Sequence[str] = ()
) -> Iterator[Version]:
    """Yield a table masked by one method after the other.

    Args:
        s: the told columns.
        x: the confidential ones.
        setting: its seed decides what is drawn.
        stream: names the draws; each method has its own.
        methods: which; all of the run where none are named.
    """
    for name in methods or names(setting):
        try:
            made = METHODS[name](s, x, setting.rng("alahmadi", stream, name))
        except PramanaError as error:
            yield Version(name, None, error.message)
        else:
            yield Version(name, numeric_table(x.names, made.matrix))


STORE = "ME.L"
CONFIDENTIAL = DATASETS[STORE].confidential


def tables(setting: Setting, name: str, draw: int = 0) -> tuple[MixedTable, MixedTable]:
    """Return S and X of one of the made data sets; each draw is a table of its own."""
    made = DATASETS[name]
    records = QUICK_RECORDS if setting.quick else RECORDS
    stream = (draw,) if draw else ()
    frame = made.make(setting.rng("alahmadi", "data", name, *stream), records)
    told = frame[list(made.told)]
    if "gender" in told.columns:
        told = told.assign(gender=told["gender"].map({0: "male", 1: "female"}))
    return read_mixed(told), read_mixed(frame[list(made.confidential)])


def store_tables(setting: Setting) -> tuple[MixedTable, MixedTable]:
    """Return S (age, gender) and X (expenditure, debt) of the store."""
    return tables(setting, STORE)


@dataclass(frozen=True)
class Relation:
    """E(target | S if told, and others of X).

    Attributes:
        target: the dependent confidential column.
        given: confidential columns among the independent ones.
        told: whether all of S is among them.
    """

    target: str
    given: tuple[str, ...]
    told: bool

    def words(self, letter: str = "X") -> str:
        """Return it as the dissertation writes it, such as E(X1 | S, X2)."""
        return f"E({letter}{self.target} | {', '.join(self._given(letter))})"

    def _given(self, letter: str) -> list[str]:
        return [*(["S"] if self.told else []), *(f"{letter}{name}" for name in self.given)]


def relations_of(x: MixedTable) -> tuple[Relation, ...]:
    """Return the relationships of two confidential columns: figures 31 to 36, in their order.

    Of more columns the first two are taken; of one, E(X1 | S) alone.
    """
    if len(x.names) == 1:
        return (Relation("1", (), told=True),)
    pairs = (("1", "2"), ("2", "1"))
    return (
        *(Relation(a, (), told=True) for a, _ in pairs),
        *(Relation(a, (b,), told=False) for a, b in pairs),
        *(Relation(a, (b,), told=True) for a, b in pairs),
    )


@dataclass(frozen=True, eq=False)
class PreservedRelation:
    """How far a relationship is kept.

    Attributes:
        relation: which.
        true: the n fitted expectations of the true records.
        masked: those of the masked records, at the true records' values.
        slope: of `masked` on `true`; 1 where it is kept, 0 where nothing is.
        r_squared: of the same regression.
    """

    relation: Relation
    true: Floats
    masked: Floats
    slope: float
    r_squared: float


def kept(
    relation: Relation,
    s: MixedTable,
    x: Floats,
    y: Floats,
    setting: Setting,
    kind: Kind = "kernel",
) -> PreservedRelation:
    """Return how far masked records keep a relationship.

    Args:
        relation: which.
        s: the told columns.
        x: the confidential columns, n x q.
        y: the masked ones, n x q.
        setting: its seed decides which records a kernel is spanned by.
        kind: how expectations are fitted.
    """
    told = design_of(s).matrix(s) if relation.told else np.empty((len(x), 0))
    target = int(relation.target) - 1
    given = [int(name) - 1 for name in relation.given]
    rng = setting.rng("alahmadi", "fit", relation.words())
    true_features = np.column_stack([told, x[:, given]])
    found = expectation(kind, true_features, x[:, [target]], rng)
    rng = setting.rng("alahmadi", "fit", relation.words())
    other = expectation(kind, np.column_stack([told, y[:, given]]), y[:, [target]], rng)
    true, masked = found.fitted[:, 0], other.predict(true_features)[:, 0]
    slope, r_squared = compared(true, masked)
    return PreservedRelation(relation, true, masked, slope, r_squared)


def compared(true: Floats, masked: Floats) -> tuple[float, float]:
    """Return slope and R^2 of the regression of masked fitted values on the true ones."""
    a, b = true - true.mean(), masked - masked.mean()
    saa, sbb, sab = float(a @ a), float(b @ b), float(a @ b)
    if saa == 0:
        return float("nan"), float("nan")
    return sab / saa, sab**2 / (saa * sbb) if sbb > 0 else 0.0

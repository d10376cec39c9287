"""A table masked by every method: the versions that the pictures and tables set side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.reproduce.experiment import Setting
from pramana_core.errors import PramanaError
from pramana_core.mask import METHODS
from pramana_core.mixed.table import MixedTable, numeric_table

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

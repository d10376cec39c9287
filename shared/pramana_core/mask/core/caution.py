"""Sentences that a custodian must read, and how grave they are: the gravest come first."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Self


class Gravity(IntEnum):
    """What a caution is about, the gravest first."""

    GRAVE = 0
    """Single true values may be found out."""
    WARNING = 1
    """Masked values lie near the true ones, or mislead an analyst."""
    NOTE = 2
    """Something was left out, or is kept less exactly."""


class Caution(str):
    """A sentence with its gravity; it names columns and never values.

    Attributes:
        gravity: what it is about.
    """

    __slots__ = ("gravity",)
    gravity: Gravity

    def __new__(cls, sentence: str, gravity: Gravity = Gravity.WARNING) -> Self:
        """Return a sentence of a gravity."""
        made = super().__new__(cls, sentence)
        made.gravity = gravity
        return made


def gravity_of(sentence: str) -> Gravity:
    """Return how grave a sentence is; one that does not say so is a warning."""
    return sentence.gravity if isinstance(sentence, Caution) else Gravity.WARNING


def gravest_first(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences by their gravity, each once; equally grave ones stay in their order."""
    return tuple(sorted(dict.fromkeys(sentences), key=gravity_of))

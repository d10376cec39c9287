"""Which process is killed in which step of a study, in an order that is drawn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, NamedTuple

Step = Literal["write", "upload", "seal", "learn"]
Deed = Literal["agent", "service", "database", "supervisor", "worker"]
"""The process that is killed."""

_ORDER: tuple[Step, ...] = ("write", "upload", "seal", "learn")


class Blow(NamedTuple):
    """A process to kill while a step is under way."""

    step: Step
    deed: Deed


def _blows(deeds: dict[Step, tuple[Deed, ...]]) -> tuple[Blow, ...]:
    return tuple(Blow(step, deed) for step, several in deeds.items() for deed in several)


# What is learned after a supervisor's end, tests/miner_service/workers shows of a job alone.
SHORT = _blows(
    {
        "upload": ("agent",),
        "seal": ("agent",),
        "learn": ("worker", "service"),
    }
)
SHORT_WITH_DATABASE = _blows(
    {"upload": ("service", "database"), "seal": ("database",), "learn": ("database",)}
)
LONG = _blows(
    {
        "write": ("agent",),
        "upload": ("agent", "agent", "service", "service"),
        "seal": ("agent", "service"),
        "learn": ("worker", "supervisor", "service"),
    }
)
LONG_WITH_DATABASE = (*LONG, *SHORT_WITH_DATABASE[1:])


class Schedule:
    """Deals the blows of each study: all that there are, and those that a former one missed.

    Args:
        blows: of one study.
        drawn: their order within a step.
    """

    def __init__(self, blows: Sequence[Blow], drawn: random.Random) -> None:
        self._blows = tuple(blows)
        self._random = drawn
        self.missed: list[Blow] = []

    def deal(self) -> list[Blow]:
        """Return the blows of the next study, in the order of its steps."""
        dealt = self.missed or list(self._blows)
        self.missed = []
        self._random.shuffle(dealt)
        return sorted(dealt, key=lambda blow: _ORDER.index(blow.step))

    def miss(self, blows: Sequence[Blow]) -> None:
        """Keep for the next study what could not be done; a moment of writing is met or not."""
        self.missed += [blow for blow in blows if blow.step != "write"]

"""The worth of a model: measures with intervals, and a verdict in one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Figure:
    """A measure of a model's quality, with its 95 % interval if known.

    `unit` is `share`, `points` (a difference of shares), `number` or `p-value`.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    unit: Literal["share", "points", "number", "p-value"] = "share"

    @property
    def words(self) -> str:
        """The number and its interval as text: `71.2 % (68.1 to 74.3)`."""
        unit = {"share": " %", "points": " points"}.get(self.unit, "")
        value = f"{self._written(self.value)}{unit}"
        if self.low is None or self.high is None:
            return value
        return f"{value} ({self._written(self.low)} to {self._written(self.high)})"

    def _written(self, number: float) -> str:
        if self.unit in ("share", "points"):
            return f"{100 * number:.1f}"
        if self.unit == "number":
            if 0 < number < 0.01:
                return "below 0.01"
            return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.2g}"
        return f"p = {number:.2g}" if number >= 1e-15 else "p < 1e-15"


@dataclass(frozen=True)
class Worth:
    """An assessment of a model.

    Attributes:
        verdict: a sentence.
        figures: the measures on which the verdict rests, the most important first.
        supposes: sentences on the assumptions behind the intervals; "" if nothing is assumed.
    """

    verdict: str
    figures: tuple[Figure, ...] = ()
    supposes: str = ""

    @property
    def words(self) -> str:
        """The verdict and the measures on one line."""
        figures = "; ".join(f"{one.name} {one.words}" for one in self.figures)
        return f"{self.verdict.removesuffix('.')}: {figures}." if figures else self.verdict

    @property
    def short(self) -> str:
        """The verdict without its full stop, and the first measure."""
        verdict = self.verdict[:1].lower() + self.verdict[1:].removesuffix(".")
        return verdict + "".join(f" ({one.name} {one.words})" for one in self.figures[:1])


def compared(gain: tuple[float, float, float], other: str) -> str:
    """Return a verdict on a gain in accuracy over another method.

    `gain` has the value and the ends of its interval.
    """
    _, low, high = gain
    least, most = sorted(abs(round(100 * end)) for end in (low, high))
    points = f"{least} to {most}" if least < most else f"{least}"
    if low > 0 and most:
        return f"Better than {other} by {points} points."
    if high < 0 and most:
        return f"Worse than {other} by {points} points."
    if low == high == 0:
        return f"No better than {other}: the predictions are the same for everybody."
    between = f"{100 * low:+.0f} to {100 * high:+.0f} points"
    return f"No better than {other}, as far as these reports show ({between})."

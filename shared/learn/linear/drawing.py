"""Pictures of linear classifiers as self-contained SVG: weights with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.learn.linear.model import Accuracy, LinearClassifier, Plane
from shared.learn.networks.exchange.drawing import PALETTE, escape

_MARGIN, _ROW, _HEADER, _AXIS, _PLOT, _LETTER = 16.0, 24.0, 52.0, 34.0, 380.0, 7.4
_TICKS = 4
_TEXT = "#333"


@dataclass(frozen=True)
class _Bar:
    """A weight times its column's deviation, with the interval, and what is written of it."""

    name: str
    value: float
    interval: tuple[float, float] | None
    text: str


def draw_weights(model: LinearClassifier) -> str:
    """Return an SVG picture of a classifier's weights.

    A bar is a weight times the deviation of its column, so that bars of columns in different units
    can be compared: how far the score moves when the column moves by one standard deviation. The
    line across its end is the 95 % interval against the population, where there is one; an
    interval that leaves 0 out makes the bar dark. Beside it stands the weight in its own unit.
    """
    panels = [_bars(model, plane) for plane in model.planes]
    names = max(len(bar.name) for bars in panels for bar in bars) * _LETTER
    texts = max(len(bar.text) for bars in panels for bar in bars) * _LETTER
    left = _MARGIN + names + 12
    width = left + _PLOT + 16 + texts + _MARGIN
    height = 2 * _MARGIN + 22 + sum(_HEADER + _ROW * len(bars) + _AXIS for bars in panels)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif">'
    )
    parts = [
        opening,
        "<title>Linear classifier: weights</title>",
        _write(_MARGIN, _MARGIN + 12, _summary(model), size=13),
    ]
    top = _MARGIN + 22
    for plane, bars in zip(model.planes, panels, strict=True):
        parts += _panel(model, plane, bars, left, top)
        top += _HEADER + _ROW * len(bars) + _AXIS
    return "\n".join([*parts, "</svg>"])


def _bars(model: LinearClassifier, plane: Plane) -> list[_Bar]:
    bars = []
    for column, weight in zip(model.columns, plane.weights[1:], strict=True):
        interval = weight.interval
        scaled = None if interval is None else tuple(e * column.deviation for e in interval)
        error = "" if weight.se is None else f" ± {weight.se:.2g}"
        text = f"{weight.estimate:.3g}{error}"
        bars.append(
            _Bar(
                column.name,
                weight.estimate * column.deviation,
                None if scaled is None else (scaled[0], scaled[1]),
                text,
            )
        )
    return bars


def _panel(
    model: LinearClassifier, plane: Plane, bars: Sequence[_Bar], left: float, top: float
) -> list[str]:
    ends = [0.0, *(bar.value for bar in bars)]
    ends += [end for bar in bars for end in bar.interval or ()]
    step = _step(max(ends) - min(ends))
    low, high = math.floor(min(ends) / step) * step, math.ceil(max(ends) / step) * step
    high = high if high > low else low + step

    def place(value: float) -> float:
        return left + (value - low) / (high - low) * _PLOT

    intercept = plane.weights[0]
    error = "" if intercept.se is None else f" ± {intercept.se:.2g}"
    title = f"{model.target.name} = {plane.positive}"
    first = top + _HEADER
    bottom = first + _ROW * len(bars)
    parts = [
        _write(_MARGIN, top + 24, title, size=14, weight="bold"),
        _write(_MARGIN, top + 42, f"intercept {intercept.estimate:.3g}{error}", size=12),
    ]
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        colour = "#555" if abs(value) < step / 2 else "#ddd"
        parts.append(_line(place(value), first, place(value), bottom, colour, 1.0))
        label = f"{value if abs(value) > step / 2 else 0:.6g}"
        parts.append(_write(place(value), bottom + 15, label, size=11, anchor="middle"))
    for number, bar in enumerate(bars):
        parts += _drawn(bar, place(0.0), place, left, first + _ROW * (number + 0.5))
    return parts


def _drawn(
    bar: _Bar, zero: float, place: Callable[[float], float], left: float, y: float
) -> list[str]:
    """Return a row: the column's name, its bar with the interval, and the weight."""
    at = place(bar.value)
    sure = bar.interval is None or not bar.interval[0] <= 0 <= bar.interval[1]
    colour = PALETTE[0] if bar.value >= 0 else PALETTE[1]
    drawn = (
        f"<g><title>{escape(bar.name)}: {escape(bar.text)}</title>"
        f'<rect x="{min(zero, at):.1f}" y="{y - 7:.1f}" width="{abs(at - zero):.1f}" height="14"'
        f' fill="{colour}" opacity="{1 if sure else 0.4}"/></g>'
    )
    parts = [
        _write(left - 12, y + 4, bar.name, size=12, anchor="end"),
        drawn,
        _write(left + _PLOT + 16, y + 4, bar.text, size=12),
    ]
    if bar.interval is not None:
        start, end = map(place, bar.interval)
        parts.append(_line(start, y, end, y, "#222", 1.6))
        parts += [_line(x, y - 4, x, y + 4, "#222", 1.6) for x in (start, end)]
    return parts


def _summary(model: LinearClassifier) -> str:
    said = f"{model.options.loss}, {model.records} records"
    if model.accuracy is not None:
        said += f", accuracy {_percent(model.accuracy)}"
    return f"{said}; bars: weight × standard deviation of the column"


def _percent(accuracy: Accuracy) -> str:
    error = "" if accuracy.se is None else f" ± {100 * accuracy.se:.1f}"
    return f"{100 * accuracy.estimate:.1f}{error} %"


def _step(span: float) -> float:
    """Return a round distance between ticks."""
    if span <= 0:
        return 1.0
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return min((m * power for m in (1, 2, 5, 10)), key=lambda step: abs(step - rough))


def _write(
    x: float, y: float, text: str, *, size: int, anchor: str = "start", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        f' font-weight="{weight}" fill="{_TEXT}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
        f' stroke-width="{width}"/>'
    )

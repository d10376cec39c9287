"""Pictures of itemsets and rules with their errors, as self-contained SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.domain import Domain
from shared.learn.networks.exchange.drawing import escape
from shared.learn.rules.decisions import Verdict
from shared.learn.rules.items import item_label
from shared.learn.rules.itemsets import FoundItemsets, Itemset
from shared.learn.rules.rules import Rule

COLOURS: dict[Verdict, str] = {
    "frequent": "#2f6f9f",
    "undecided": "#b5651d",
    "not frequent": "#666666",
}
"""A verdict's colour, named in the legend; the shape of its mark differs too."""

_ROW, _MARGIN, _LETTER, _PLOT, _AXIS = 22.0, 16.0, 7.2, 420.0, 46.0
_LIFT, _LARGEST_LIFT = 150.0, 1000.0
"""The width of the column of lifts; an interval of a lift up to more is left out there."""

_LONGEST = 60
"""Labels of more letters are cut; the whole is in the mark's title."""

_Scale = Callable[[float], float]


@dataclass(frozen=True)
class _Axis:
    """A linear scale from values to places, with ticks at round numbers."""

    low: float
    high: float
    start: float
    length: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, length: float) -> _Axis:
        """Return an axis from round number to round number that shows all values."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        step = _step(high - low)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        return cls(low, high if high > low else low + step, start, length)

    def at(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * self.length

    def ticks(self) -> list[float]:
        step = _step(self.high - self.low)
        return [self.low + k * step for k in range(round((self.high - self.low) / step) + 1)]


def _step(width: float) -> float:
    """Return a round distance of ticks: about five on the width."""
    if width <= 0:
        return 0.1
    power = 10.0 ** math.floor(math.log10(width / 5))
    return float(min((k for k in (1, 2, 5, 10)), key=lambda k: abs(k * power - width / 5)) * power)


def draw_itemsets(found: FoundItemsets, most: int = 30, *, examined: bool = False) -> str:
    """Return a picture of the frequent itemsets of the largest support, a row each.

    A mark at the estimate, a line over its interval, the colour and the shape of the verdict, and
    a broken line at the minimum support.

    Args:
        found: the itemsets.
        most: how many are drawn.
        examined: draw those too that are not held frequent, if anything is known of them.
    """
    listed = [i for i in found.itemsets if i.chosen or (examined and not math.isnan(i.support))]
    shown = sorted(listed, key=lambda i: -i.support)[:most]
    minimum = found.options.minimum_support
    labels = [_cut(", ".join(found.labels(itemset.items))) for itemset in shown]
    left = 2 * _MARGIN + _LETTER * max(map(len, labels), default=0)
    bottom = _MARGIN + 26 + _ROW * len(shown)
    ends = [end for itemset in shown for end in (*itemset.interval, itemset.support)]
    axis = _Axis.over([0.0, minimum, *ends], left, _PLOT)
    kind = "Examined" if examined else "Frequent"
    heading = f"{kind} itemsets: the {len(shown)} of largest support, of {len(listed)}"
    rows = [
        part
        for number, (itemset, label) in enumerate(zip(shown, labels, strict=True))
        for part in _row(itemset, label, found, axis, _MARGIN + 26 + _ROW * (number + 0.5))
    ]
    title = f"{100 * found.options.confidence:g} % intervals against the {found.options.against}"
    parts = [
        *_across(axis, _MARGIN + 26, bottom, f"support; {title}"),
        _limit(axis.at(minimum), _MARGIN + 20, bottom, f"minimum {minimum:g}"),
        *rows,
        *_legend(shown, bottom + _AXIS),
    ]
    return _svg(left + _PLOT + 3 * _MARGIN, bottom + _AXIS + 28, heading, parts)


def _row(itemset: Itemset, label: str, found: FoundItemsets, axis: _Axis, y: float) -> list[str]:
    low, high = itemset.interval
    words = (
        f"{', '.join(found.labels(itemset.items))}: support {itemset.support:.4f},"
        f" {low:.4f} to {high:.4f}, {itemset.verdict}"
    )
    colour = COLOURS[itemset.verdict]
    mark = _mark(itemset.verdict, axis.at(itemset.support), y)
    return [
        _text(axis.start - 10, y, label, "end"),
        _titled(words, _bar(axis.at(low), axis.at(high), y, colour) + mark),
    ]


def draw_rules(domain: Domain, rules: Sequence[Rule], most: int = 40) -> str:
    """Return a picture of the rules of surest confidence, a row each.

    A dot at the confidence, a line over its interval, and the lift in words. The surest are those
    whose intervals end highest below: the largest estimates of all are the luckiest. An estimated
    confidence above 1 is drawn at 1; each row's title names its rule in full.

    Args:
        domain: the variables.
        rules: the rules.
        most: how many are drawn.
    """
    shown = sorted(rules, key=lambda rule: -rule.confidence_interval[0])[:most]
    names = [_name(domain, rule) for rule in shown]
    labels = [_cut(name) for name in names]
    left = 2 * _MARGIN + _LETTER * max(map(len, labels), default=0)
    top = _MARGIN + 26
    bottom = top + _ROW * len(shown)
    axis = _Axis.over([end for rule in shown for end in _shown_confidence(rule)], left, _PLOT)
    rows = [
        part
        for number, (rule, name, label) in enumerate(zip(shown, names, labels, strict=True))
        for part in _rule(rule, name, label, axis, top + _ROW * (number + 0.5))
    ]
    parts = [
        *_across(axis, top, bottom, "confidence and its interval"),
        *([_text(left + _PLOT + _MARGIN, top - 8, "lift")] if shown else []),
        *rows,
    ]
    heading = f"Rules: the {len(shown)} of surest confidence, of {len(rules)}"
    return _svg(left + _PLOT + 2 * _MARGIN + _LIFT, bottom + _AXIS, heading, parts)


def _name(domain: Domain, rule: Rule) -> str:
    sides = (
        ", ".join(item_label(domain, item) for item in side)
        for side in (rule.antecedent, rule.consequent)
    )
    return " → ".join(sides)


def _shown_confidence(rule: Rule) -> tuple[float, float, float]:
    """Return the estimate and the ends of its interval; the estimate at most 1."""
    return (min(1.0, rule.confidence), *rule.confidence_interval)


def _rule(rule: Rule, name: str, label: str, axis: _Axis, y: float) -> list[str]:
    estimate, low, high = _shown_confidence(rule)
    lift = (
        f"{rule.lift:.2f} ({rule.lift_interval[0]:.2f} to {rule.lift_interval[1]:.2f})"
        if max(rule.lift_interval) < _LARGEST_LIFT
        else f"{rule.lift:.2f}"
    )
    words = (
        f"{name}: support {rule.support:.4f}, confidence {rule.confidence:.3f}"
        f" ({low:.3f} to {high:.3f}), lift {lift}"
    )
    colour = COLOURS["frequent"]
    dot = f'<circle cx="{axis.at(estimate):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    return [
        _text(axis.start - 10, y, label, "end"),
        _titled(words, _bar(axis.at(low), axis.at(high), y, colour) + dot),
        _text(axis.start + axis.length + _MARGIN, y, lift),
    ]


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    """Return a line of words whose middle is at the height y."""
    return (
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" font-size="12"'
        f' fill="#333">{escape(words)}</text>'
    )


def _titled(words: str, marks: str) -> str:
    return f"<g><title>{escape(words)}</title>{marks}</g>"


def _bar(left: float, right: float, y: float, colour: str) -> str:
    return (
        f'<path d="M{left:.1f},{y:.1f} H{right:.1f} M{left:.1f},{y - 4:.1f} v8'
        f' M{right:.1f},{y - 4:.1f} v8" stroke="{colour}" stroke-width="1.4" fill="none"/>'
    )


def _mark(verdict: Verdict, x: float, y: float) -> str:
    """Return a dot, hollow where undecided, a square where not frequent."""
    colour = COLOURS[verdict]
    if verdict == "not frequent":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    fill = "#fff" if verdict == "undecided" else colour
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{colour}"'
        ' stroke-width="1.8"/>'
    )


def _across(axis: _Axis, top: float, bottom: float, name: str) -> list[str]:
    middle = axis.start + axis.length / 2
    return [
        part
        for tick in axis.ticks()
        for part in (
            f'<path d="M{axis.at(tick):.1f},{top:.1f} V{bottom:.1f}" stroke="#e3e3e3"/>',
            (
                f'<text x="{axis.at(tick):.1f}" y="{bottom + 16:.1f}" text-anchor="middle"'
                f' font-size="11" fill="#555">{_number(tick)}</text>'
            ),
        )
    ] + [
        (
            f'<text x="{middle:.1f}" y="{bottom + 34:.1f}" text-anchor="middle" font-size="12"'
            f' fill="#333">{escape(name)}</text>'
        )
    ]


def _limit(x: float, top: float, bottom: float, name: str) -> str:
    return (
        f'<path d="M{x:.1f},{top:.1f} V{bottom:.1f}" stroke="#a63d57" stroke-width="1.4"'
        f' stroke-dasharray="5 4"/><text x="{x + 5:.1f}" y="{top + 2:.1f}" font-size="11"'
        f' fill="#a63d57">{escape(name)}</text>'
    )


def _legend(shown: Sequence[Itemset], y: float) -> list[str]:
    parts, x = [], _MARGIN + 5
    for verdict in COLOURS:
        if any(itemset.verdict == verdict for itemset in shown):
            parts.append(
                f"{_mark(verdict, x, y)}"
                f'<text x="{x + 12:.1f}" y="{y + 4:.1f}" font-size="12" fill="#333">{verdict}'
                "</text>"
            )
            x += 40 + _LETTER * len(verdict)
    return parts


def _svg(width: float, height: float, heading: str, parts: Sequence[str]) -> str:
    width = max(width, 2 * _MARGIN + 8.0 * len(heading))
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img" font-family="sans-serif">'
    )
    title = (
        f"<title>{escape(heading)}</title>"
        f'<text x="{_MARGIN:.0f}" y="{_MARGIN + 4:.0f}" font-size="14" fill="#222">'
        f"{escape(heading)}</text>"
    )
    return "\n".join([opening, title, *parts, "</svg>"])


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _number(value: float) -> str:
    return f"{round(value, 10):g}"

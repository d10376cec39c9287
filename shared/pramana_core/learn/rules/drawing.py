"""Pictures of itemsets and rules with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pramana_core.learn.rules.decisions import Verdict
from pramana_core.learn.rules.itemsets import FoundItemsets
from pramana_core.learn.rules.rules import Rule
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.ties import descending

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: dict[Verdict, str] = {
    "frequent": plots.BLUE,
    "undecided": plots.RED,
    "not frequent": plots.GREY,
}
"""The colour of each verdict; a legend shows it, and the marks also differ in shape."""

_MARKS: dict[Verdict, str] = {"frequent": "o", "undecided": "o", "not frequent": "s"}
_HOLLOW: Verdict = "undecided"
MOST_ITEMSETS, MOST_RULES = 30, 40
"""The maximum number of itemsets, and of rules, in a picture."""

_LARGEST_LIFT = 1000.0
"""If the upper end of a lift's interval is above this value, the end is not written as a number."""


def itemsets_chart(found: FoundItemsets) -> Chart:
    """Return a picture of the frequent itemsets with the largest supports, one per row.

    In each row, a mark shows the estimate, in the colour and shape of the verdict, and a line shows
    the interval. A dashed line shows the minimum support.
    """
    listed = found.frequent
    order = descending([i.support for i in listed]).tolist()
    shown = [listed[at] for at in order[:MOST_ITEMSETS]]
    names = [", ".join(found.labels(itemset.items)) for itemset in shown]
    minimum, options = found.options.minimum_support, found.options
    heading = f"Frequent itemsets: the {len(shown)} with the largest support, of {len(listed)}"

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names)
        for row, (itemset, name) in enumerate(zip(shown, names, strict=True)):
            low, high = itemset.interval
            details = f"support {itemset.support:.4f}, {low:.4f} to {high:.4f}, {itemset.verdict}"
            plots.interval(
                axis,
                row,
                itemset.support,
                (low, high),
                f"{name}: {details}",
                COLOURS[itemset.verdict],
                _MARKS[itemset.verdict],
                hollow=itemset.verdict == _HOLLOW,
            )
        axis.axvline(minimum, color=plots.BLACK, linestyle="--", linewidth=1.2)
        plots.above(axis, minimum, f"minimum {minimum:g}", "data")
        axis.set_xlim(left=min(0.0, axis.get_xlim()[0]))
        axis.set_title(heading, pad=20)
        axis.set_xlabel(
            f"support; {100 * options.confidence:g} % intervals against the {options.against}",
            fontsize=9,
        )
        for verdict, colour in COLOURS.items():
            if any(itemset.verdict == verdict for itemset in shown):
                filled = "white" if verdict == _HOLLOW else colour
                axis.plot([], [], _MARKS[verdict], color=colour, mfc=filled, label=verdict)

    width, height = plots.size_of(names)
    return Chart(heading, "itemsets", (width, height + 0.5), draw, legend=True)


def rules_chart(found: FoundItemsets, rules: Sequence[Rule]) -> Chart:
    """Return a picture of rules, with their confidence intervals and lifts.

    The rules with the highest lower ends of the intervals are shown.
    """
    lows = [rule.confidence_interval[0] for rule in rules]
    shown = [rules[at] for at in descending(lows).tolist()[:MOST_RULES]]
    names = [_name(found, rule) for rule in shown]
    lifts = [_lift(rule) for rule in shown]
    heading = f"Rules: the {len(shown)} with the highest lower end of confidence, of {len(rules)}"

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, lifts)
        for row, (rule, name, lift) in enumerate(zip(shown, names, lifts, strict=True)):
            estimate, (low, high) = min(1.0, rule.confidence), rule.confidence_interval
            details = f"confidence {estimate:.3f} ({low:.3f} to {high:.3f}), lift {lift}"
            words = f"{name}: support {rule.support:.4f}, {details}"
            plots.interval(axis, row, estimate, (low, high), words)
        axis.set_title(heading, pad=20)
        if shown:
            plots.above(axis, 1.02, "lift", "axes fraction")
        axis.set_xlabel("confidence and its interval", fontsize=9)

    width, height = plots.size_of(names, lifts)
    return Chart(heading, "rules", (width, height + 0.2), draw)


def _name(found: FoundItemsets, rule: Rule) -> str:
    return " → ".join(", ".join(found.labels(s)) for s in (rule.antecedent, rule.consequent))


def _lift(rule: Rule) -> str:
    low, high = rule.lift_interval
    if low <= 0 and high >= _LARGEST_LIFT:
        return f"{rule.lift:.2f}"
    end = (
        f"{high:.2f}"
        if high < _LARGEST_LIFT
        else "no end"
        if math.isinf(high)
        else f"over {_LARGEST_LIFT:g}"
    )
    return f"{rule.lift:.2f} ({low:.2f} to {end})"

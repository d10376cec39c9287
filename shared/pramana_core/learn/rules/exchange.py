"""Itemsets and rules as JSON and CSV.

A JSON document has `kind` "association-rules", the items that all others name by their places, and
what was found; what is not a number is null. CSV has a row per itemset or rule, lines end with a
line feed, and items stand in one cell as a JSON list of words, `["milk=yes", "bread=no"]`, so that
no letter of a category is taken for the end of an item.

Also here:

* Itemsets and rules as data frames: mlxtend's columns first, then errors.
* What was found as JSON read back: documents that say what the variables are.
* Pictures of itemsets and rules with their errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import numpy as np
from annotated_types import Len
from pydantic import Field, create_model

from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.itemsets import (
    VERDICTS,
    FoundItemsets,
    Itemset,
    Level,
    Verdict,
    item_label,
)
from pramana_core.learn.rules.rules import Rule
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Item
from pramana_core.pictures import plots
from pramana_core.pictures.plots import Chart
from pramana_core.ties import descending

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Itemsets and rules as JSON and CSV.


Word = Callable[[Any], str]
"""Says in words what stands for an item: `variable=category`."""

_OF_ITEMSETS = [f.name for f in fields(Itemset)]
_MEASURED = [f.name for f in fields(Rule) if f.name not in ("antecedent", "consequent")]


def itemsets_json(found: FoundItemsets, *, examined: bool = False) -> dict[str, Any]:
    """Return the document of what was found, without rules.

    Args:
        found: the itemsets.
        examined: list all that were examined, not only those held frequent.
    """
    listed = found.itemsets if examined else found.frequent
    return {
        "kind": "association-rules",
        "records": found.records,
        "options": asdict(found.options),
        "items": [
            {"variable": name, "category": found.domain[name].categories[code]}
            for name, code in found.items
        ],
        "examined": sum(len(level) for level in found.levels),
        "modelled_from": found.modelled_from,
        "itemsets": [_written(_Itemset, itemset) for itemset in listed],
    }


def rules_json(
    found: FoundItemsets, rules: Iterable[Rule], *, examined: bool = False
) -> dict[str, Any]:
    """Return the document of `itemsets_json` with rules."""
    places = {item: place for place, item in enumerate(found.items)}

    def placed(rule: Rule) -> dict[str, Any]:
        return {side: tuple(places[item] for item in getattr(rule, side)) for side in _SIDES}

    return itemsets_json(found, examined=examined) | {
        "rules": [_written(_Rule, rule, **placed(rule)) for rule in rules]
    }


def itemsets_csv(found: FoundItemsets, *, examined: bool = False) -> str:
    """Return the itemsets as CSV, a header first; arguments as for `itemsets_json`."""
    listed = found.itemsets if examined else found.frequent
    return listed_itemsets_csv(listed, found.item_labels.__getitem__)


def rules_csv(found: FoundItemsets, rules: Iterable[Rule]) -> str:
    """Return rules as CSV, a header first."""
    return listed_rules_csv(rules, lambda item: item_label(found.domain, item))


def listed_itemsets_csv(itemsets: Iterable[Any], word: Word) -> str:
    """Return itemsets as CSV, a header first.

    Args:
        itemsets: with the attributes of `Itemset`, whatever class they are of.
        word: says what is in `items`.
    """
    header = ["items", "length", *_OF_ITEMSETS[1:]]
    rows = (
        [_cell(i.items, word), len(i.items), *(getattr(i, name) for name in header[2:])]
        for i in itemsets
    )
    return _csv(header, rows)


def listed_rules_csv(rules: Iterable[Any], word: Word) -> str:
    """Return rules as CSV, a header first.

    Args:
        rules: with the attributes of `Rule`, whatever class they are of.
        word: says what is in `antecedent` and `consequent`.
    """
    sides = ["antecedent", "consequent"]
    rows = (
        [
            *(_cell(getattr(rule, side), word) for side in sides),
            *(getattr(rule, name) for name in _MEASURED),
        ]
        for rule in rules
    )
    return _csv([*sides, *_MEASURED], rows)


def _cell(items: Sequence[Any], word: Word) -> str:
    return json.dumps([word(item) for item in items], ensure_ascii=False)


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write rows; an interval becomes two columns, its ends."""
    names = (
        part
        for name in header
        for part in ((f"{name}_low", f"{name}_high") if name.endswith("interval") else (name,))
    )

    def cells(row: Sequence[Any]) -> Iterator[Any]:
        for value in row:
            for part in value if isinstance(value, tuple) else [value]:
                yield None if _missing(part) else part

    return csv_text(names, map(cells, rows))


def _written(form: Any, found: Itemset | Rule, **changed: Any) -> dict[str, Any]:
    """Return an itemset or a rule as JSON can say it."""
    document: dict[str, Any] = form.model_construct(**vars(found) | changed).model_dump(mode="json")
    return document


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


# Itemsets and rules as data frames: mlxtend's columns first, then errors.

ITEMSET_ERRORS = (
    "support_se",
    "support_low",
    "support_high",
    "se_records",
    "se_population",
    "verdict",
    "p_value",
)
"""Our columns of itemsets, after `support` and `itemsets`."""

MEASURED, ENDS = ("support", "confidence", "lift", "leverage"), ("se", "low", "high")

SIDES = ("antecedent support", "consequent support")
"""The columns of rules that have no error of their own, as mlxtend calls them."""

RULE_ERRORS = tuple(f"{name}_{end}" for name in MEASURED for end in ENDS)
"""The errors of the others."""


def itemsets_frame(
    found: FoundItemsets,
    *,
    examined: bool = False,
    names: Mapping[Item, Any] | None = None,
) -> pd.DataFrame:
    """Return the itemsets, a row each: `support`, `itemsets` (frozensets), and `ITEMSET_ERRORS`.

    `support_se` and the interval are against what the options say.

    Args:
        found: the itemsets.
        examined: list all that were examined, not only those held frequent.
        names: what stands for each item; by default `variable=category`.
    """
    import pandas as pd

    called = [names[item] for item in found.items] if names else list(found.item_labels)
    kept = [np.ones(len(v), np.bool_) if examined else v.chosen for v in found.levels]
    itemsets = [
        frozenset(called[place] for place in row)
        for level, rows in zip(found.levels, kept, strict=True)
        for row in level.itemsets[rows].tolist()
    ]
    population = found.options.against == "population"
    columns = [_columns(level, population=population) for level in found.levels]
    joined = {
        name: np.concatenate([part[name][rows] for part, rows in zip(columns, kept, strict=True)])
        for name in ("support", *ITEMSET_ERRORS)
    }
    # An empty column of objects, not of floats, where nothing was found.
    sets = pd.Series(itemsets, dtype=object)
    return pd.DataFrame({"support": joined.pop("support"), "itemsets": sets, **joined})


def rules_frame(domain: Domain, rules: Sequence[Rule]) -> pd.DataFrame:
    """Return rules, a row each: `antecedents`, `consequents`, `SIDES`, `MEASURED` and their errors.

    Args:
        domain: the variables.
        rules: the rules; their sides become frozensets of `variable=category`.
    """
    import pandas as pd

    sides = {
        f"{side}s": pd.Series(
            [frozenset(item_label(domain, i) for i in getattr(rule, side)) for rule in rules],
            dtype=object,
        )
        for side in ("antecedent", "consequent")
    }
    measured = {
        name: np.array([getattr(rule, name.replace(" ", "_")) for rule in rules], float)
        for name in (*SIDES, *MEASURED)
    }
    errors = {
        f"{name}_{end}": np.array([_told(rule, name)[place] for rule in rules], float)
        for name in MEASURED
        for place, end in enumerate(ENDS)
    }
    return pd.DataFrame({**sides, **measured, **errors})


def _told(rule: Rule, name: str) -> tuple[float, float, float]:
    return getattr(rule, f"{name}_se"), *getattr(rule, f"{name}_interval")


def _columns(level: Level, *, population: bool) -> dict[str, Any]:
    low, high = possible(level.low, level.high, level.support)
    return {
        "support": level.support,
        "support_se": level.se_population if population else level.se_records,
        "support_low": low,
        "support_high": high,
        "se_records": level.se_records,
        "se_population": level.se_population,
        "verdict": np.array(VERDICTS, dtype=object)[level.verdict],
        "p_value": level.p_value,
    }


# What was found as JSON read back: documents that say what the variables are.


_UNSAID = "(another)"
"""Stands for the second category of a variable of which a document names one."""


@dataclass(frozen=True)
class RuleFindings:
    """What was found: the itemsets, and the rules between their parts."""

    itemsets: FoundItemsets
    rules: tuple[Rule, ...] = ()


def write_found(found: RuleFindings) -> dict[str, Any]:
    """Return all that was examined and the rules as what JSON is made of."""
    document = rules_json(found.itemsets, found.rules, examined=True)
    return {**document, "variables": [variable_json(v) for v in found.itemsets.domain]}


def read_found(document: Mapping[str, Any]) -> RuleFindings:
    """Read what `write_found` or, without their variables, `rules_json` wrote.

    Where the variables are not told, they have the categories that are items.

    Raises:
        InputError: it is no such document.
        DomainError, UnknownVariable, UnknownCategory, OptionError: a part of it cannot be.
    """
    read: Any = read_json(
        _Document,
        write_json(document),
        "a list of itemsets",
        "Give the JSON of itemsets or rules as it was written.",
    )
    domain = Domain(_of_items(read.items) if read.variables is None else read.variables)
    items = tuple((i.variable, domain[i.variable].code(i.category)) for i in read.items)
    named = [place for itemset in read.itemsets for place in itemset.items]
    if max(named, default=-1) >= len(items):
        raise InputError("An itemset has an item that is not there.", where="itemsets")
    found = FoundItemsets(
        domain, read.records, read.options, items, _levels(read.itemsets), read.modelled_from
    )
    rules = []
    for rule in read.rules:
        if any(place >= len(items) for place in (*rule.antecedent, *rule.consequent)):
            raise InputError("A rule has an item that is not there.", where="rules")
        sides = {side: tuple(items[place] for place in getattr(rule, side)) for side in _SIDES}
        rules.append(Rule(**dict(rule) | sides))
    return RuleFindings(found, tuple(rules))


def _of_items(items: Sequence[_Item]) -> tuple[Variable, ...]:
    named: dict[str, list[str]] = {}
    for item in items:
        named.setdefault(item.variable, []).append(item.category)
    return tuple(Variable(n, (*c, _UNSAID)[: max(2, len(c))]) for n, c in named.items())


class _Item(DocumentPart):
    variable: str
    category: str


_Places = tuple[Annotated[int, Field(ge=0)], ...]
_SIDES = ("antecedent", "consequent")
_Itemset: Any = create_model(
    "_Itemset",
    __base__=DocumentPart,
    **get_type_hints(Itemset, include_extras=True) | {"items": Annotated[_Places, Len(1)]},
)
_Rule: Any = create_model(
    "_Rule",
    __base__=DocumentPart,
    **get_type_hints(Rule, include_extras=True) | dict.fromkeys(_SIDES, _Places),
)


class _Document(DocumentPart):
    kind: str = Field(pattern="^association-rules$")
    records: int = Field(ge=1)
    options: RuleOptions
    items: tuple[_Item, ...]
    examined: int
    modelled_from: int | None
    itemsets: tuple[_Itemset, ...]
    rules: tuple[_Rule, ...] = ()
    variables: tuple[Variable, ...] | None = None


def _levels(itemsets: Sequence[Itemset]) -> tuple[Level, ...]:
    longest = max((len(itemset.items) for itemset in itemsets), default=0)
    return tuple(
        _level([itemset for itemset in itemsets if len(itemset.items) == length], length)
        for length in range(1, longest + 1)
    )


def _level(of: Sequence[Itemset], length: int) -> Level:
    def column(name: str) -> Any:
        return np.array([getattr(one, name) for one in of], dtype=np.float64)

    rows = np.array([one.items for one in of], dtype=np.int64).reshape(-1, length)
    low, high = (np.array([one.interval[k] for one in of], dtype=np.float64) for k in (0, 1))
    return Level(
        rows,
        column("support"),
        column("se_records"),
        column("se_population"),
        low,
        high,
        np.array([VERDICTS.index(one.verdict) for one in of], dtype=np.int64),
        column("p_value"),
        np.array([one.chosen for one in of], dtype=np.bool_),
    )


# Pictures of itemsets and rules with their errors.


COLOURS: dict[Verdict, str] = {
    "frequent": plots.BLUE,
    "undecided": plots.RED,
    "not frequent": plots.GREY,
}
"""A verdict's colour, named in the legend; its mark differs too."""

_MARKS: dict[Verdict, str] = {"frequent": "o", "undecided": "o", "not frequent": "s"}
_HOLLOW: Verdict = "undecided"
MOST_ITEMSETS, MOST_RULES = 30, 40
"""Of more, a picture shows the first."""

_LARGEST_LIFT = 1000.0
"""Of an interval of a lift that ends beyond, the end is not written out."""


def draw_itemsets(
    found: FoundItemsets, most: int = MOST_ITEMSETS, *, examined: bool = False
) -> str:
    """Return the picture of `itemsets_chart` as self-contained SVG."""
    return itemsets_chart(found, most, examined=examined).svg()


def itemsets_chart(
    found: FoundItemsets, most: int = MOST_ITEMSETS, *, examined: bool = False
) -> Chart:
    """Return a picture of the frequent itemsets of the largest support, a row each.

    A mark at the estimate, a line over its interval, the colour and the shape of the verdict, and
    a broken line at the minimum support.

    Args:
        found: the itemsets.
        most: how many are drawn.
        examined: draw those too that are not held frequent, if anything is known of them.
    """
    listed = [i for i in found.itemsets if i.chosen or (examined and not math.isnan(i.support))]
    shown = [listed[at] for at in descending([i.support for i in listed]).tolist()][:most]
    names = [", ".join(found.labels(itemset.items)) for itemset in shown]
    minimum, options = found.options.minimum_support, found.options
    kind = "Examined" if examined else "Frequent"
    heading = f"{kind} itemsets: the {len(shown)} of largest support, of {len(listed)}"

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names)
        for row, (itemset, name) in enumerate(zip(shown, names, strict=True)):
            low, high = itemset.interval
            said = f"support {itemset.support:.4f}, {low:.4f} to {high:.4f}, {itemset.verdict}"
            plots.interval(
                axis,
                row,
                itemset.support,
                (low, high),
                f"{name}: {said}",
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


def draw_rules(domain: Domain, rules: Sequence[Rule], most: int = MOST_RULES) -> str:
    """Return the picture of `rules_chart` as self-contained SVG."""
    return rules_chart(domain, rules, most).svg()


def rules_chart(domain: Domain, rules: Sequence[Rule], most: int = MOST_RULES) -> Chart:
    """Return a picture of the rules of surest confidence, a row each.

    A dot at the confidence, a line over its interval, and the lift in words. The surest are those
    whose intervals end highest below: the largest estimates of all are the luckiest. An estimated
    confidence above 1 is drawn at 1; each row's title names its rule in full.

    Args:
        domain: the variables.
        rules: the rules.
        most: how many are drawn.
    """
    lows = [rule.confidence_interval[0] for rule in rules]
    shown = [rules[at] for at in descending(lows).tolist()][:most]
    names = [_name(domain, rule) for rule in shown]
    lifts = [_lift(rule) for rule in shown]
    heading = f"Rules: the {len(shown)} of surest confidence, of {len(rules)}"

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        plots.rows(axis, names, lifts)
        for row, (rule, name, lift) in enumerate(zip(shown, names, lifts, strict=True)):
            estimate, (low, high) = min(1.0, rule.confidence), rule.confidence_interval
            said = f"confidence {estimate:.3f} ({low:.3f} to {high:.3f}), lift {lift}"
            words = f"{name}: support {rule.support:.4f}, {said}"
            plots.interval(axis, row, estimate, (low, high), words)
        axis.set_title(heading, pad=20)
        if shown:
            plots.above(axis, 1.02, "lift", "axes fraction")
        axis.set_xlabel("confidence and its interval", fontsize=9)

    width, height = plots.size_of(names, lifts)
    return Chart(heading, "rules", (width, height + 0.2), draw)


def _name(domain: Domain, rule: Rule) -> str:
    sides = (
        ", ".join(item_label(domain, item) for item in side)
        for side in (rule.antecedent, rule.consequent)
    )
    return " → ".join(sides)


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

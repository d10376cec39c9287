"""Itemsets and rules as JSON and CSV.

A JSON document has `kind` "association-rules", the items that all others name by their places, and
what was found; what is not a number is null. CSV has a row per itemset or rule, lines end with a
line feed, and items stand in one cell as a JSON list of words, `["milk=yes", "bread=no"]`, so that
no letter of a category is taken for the end of an item.

Also here:

* Itemsets and rules as data frames: mlxtend's columns first, then errors.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana_core.domain import Domain
from pramana_core.learn.rules.decisions import VERDICTS
from pramana_core.learn.rules.itemsets import FoundItemsets, Itemset, Level, item_label
from pramana_core.learn.rules.rules import MEASURES, Rule, measures
from pramana_core.marginals.score_interval import possible
from pramana_core.marginals.support_counts import Item

if TYPE_CHECKING:
    import pandas as pd


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
        "itemsets": [
            {name: _plain(getattr(itemset, name)) for name in _OF_ITEMSETS} for itemset in listed
        ],
    }


def rules_json(
    found: FoundItemsets, rules: Iterable[Rule], *, examined: bool = False
) -> dict[str, Any]:
    """Return the document of `itemsets_json` with rules."""
    places = {item: place for place, item in enumerate(found.items)}

    def written(rule: Rule) -> dict[str, Any]:
        return {
            "antecedent": [places[item] for item in rule.antecedent],
            "consequent": [places[item] for item in rule.consequent],
            **{name: _plain(getattr(rule, name)) for name in _MEASURED},
        }

    return itemsets_json(found, examined=examined) | {"rules": [written(rule) for rule in rules]}


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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        part
        for name in header
        for part in ((f"{name}_low", f"{name}_high") if name.endswith("interval") else (name,))
    )
    for row in rows:
        values = (
            part for value in row for part in (value if isinstance(value, tuple) else [value])
        )
        writer.writerow("" if _missing(value) else value for value in values)
    return text.getvalue()


def _plain(value: Any) -> Any:
    """Return a field's value as JSON can say it."""
    if isinstance(value, tuple):
        return [None if _missing(part) else part for part in value]
    return None if _missing(value) else value


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
    "consistent",
)
"""Our columns of itemsets, after `support` and `itemsets`."""

MEASURED, ENDS = ("support", "confidence", "lift", "leverage"), ("se", "low", "high")

RULE_ERRORS = tuple(f"{name}_{end}" for name in MEASURED for end in ENDS)
"""Our columns of rules, after mlxtend's."""


def itemsets_frame(
    found: FoundItemsets,
    *,
    examined: bool = False,
    names: Mapping[Item, Any] | None = None,
) -> pd.DataFrame:
    """Return the itemsets, a row each: `support`, `itemsets` (frozensets), and `ITEMSET_ERRORS`.

    `support_se` and the interval are against what the options say; `consistent` is NaN where it
    was not asked for.

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
    """Return rules, a row each: `antecedents`, `consequents`, `MEASURES` and `RULE_ERRORS`.

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
    supports = ("support", "antecedent_support", "consequent_support")
    measured = measures(*(np.array([getattr(r, s) for r in rules], float) for s in supports))
    errors = {
        f"{name}_{end}": np.array([_told(rule, name)[place] for rule in rules], float)
        for name in MEASURED
        for place, end in enumerate(ENDS)
    }
    return pd.DataFrame({**sides, **{name: measured[name] for name in MEASURES}, **errors})


def _told(rule: Rule, name: str) -> tuple[float, float, float]:
    return getattr(rule, f"{name}_se"), *getattr(rule, f"{name}_interval")


def _columns(level: Level, *, population: bool) -> dict[str, Any]:
    unasked = np.full(len(level), np.nan)
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
        "consistent": unasked if level.consistent is None else level.consistent,
    }

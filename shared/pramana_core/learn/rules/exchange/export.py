"""Itemsets and rules as JSON and CSV.

A JSON document has `kind` "association-rules", the items that all others name by their places, and
what was found; what is not a number is null. CSV has a row per itemset or rule, lines end with a
line feed, and items stand in one cell as a JSON list of words, `["milk=yes", "bread=no"]`, so that
no letter of a category is taken for the end of an item.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from pramana_core.learn.rules.items import item_label
from pramana_core.learn.rules.itemsets import FoundItemsets, Itemset
from pramana_core.learn.rules.rules import Rule

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

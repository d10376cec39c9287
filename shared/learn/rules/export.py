"""Itemsets and rules as JSON and CSV.

A JSON document has `kind` "association-rules", the items that all others name by their places, and
what was found; what is not a number is null. CSV has a row per itemset or rule, its items in words
joined by " & ".
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from shared.learn.rules.found import FoundItemsets, Itemset
from shared.learn.rules.items import item_label
from shared.learn.rules.rules import Rule

JOINED = " & "

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
    header = ["items", "length", *_OF_ITEMSETS[1:]]
    listed = found.itemsets if examined else found.frequent
    rows = (
        [JOINED.join(found.labels(i.items)), len(i.items), *(getattr(i, n) for n in header[2:])]
        for i in listed
    )
    return _csv(header, rows)


def rules_csv(found: FoundItemsets, rules: Iterable[Rule]) -> str:
    """Return rules as CSV, a header first."""
    header = ["antecedent", "consequent", *_MEASURED]

    def words(items: Sequence[tuple[str, int]]) -> str:
        return JOINED.join(item_label(found.domain, item) for item in items)

    rows = (
        [words(r.antecedent), words(r.consequent), *(getattr(r, name) for name in _MEASURED)]
        for r in rules
    )
    return _csv(header, rows)


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

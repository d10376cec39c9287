"""Itemsets and rules as JSON and CSV.

A JSON document has `kind` "association-rules", the items that all others name by their places, and
what was found; what is not a number is null. CSV has a row per itemset or rule, lines end with a
line feed, and items stand in one cell as a JSON list of words, `["milk=yes", "bread=no"]`, so that
no letter of a category is taken for the end of an item.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, get_type_hints

import numpy as np
from annotated_types import Len
from pydantic import Field, create_model

from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.decisions import VERDICTS
from pramana_core.learn.rules.itemsets import FoundItemsets, Itemset, Level
from pramana_core.learn.rules.rules import Rule

Word = Callable[[Any], str]
"""Says in words what stands for an item: `variable=category`."""

_OF_ITEMSETS = [f.name for f in fields(Itemset)]
_MEASURED = [f.name for f in fields(Rule) if f.name not in ("antecedent", "consequent")]


_UNSAID = "(another)"
"""The second category of a variable with one category in the document."""


@dataclass(frozen=True)
class RuleFindings:
    """What was found: the itemsets, and the rules between their parts."""

    itemsets: FoundItemsets
    rules: tuple[Rule, ...] = ()


def write_findings(
    found: FoundItemsets, rules: Iterable[Rule] = (), *, examined: bool = True
) -> dict[str, Any]:
    """Return itemsets and rules as JSON.

    Args:
        found: the itemsets.
        rules: the rules.
        examined: list all itemsets that were examined, not only the frequent ones.
    """
    places = {item: place for place, item in enumerate(found.items)}
    listed = found.itemsets if examined else found.frequent

    def placed(rule: Rule) -> dict[str, Any]:
        return {side: tuple(places[item] for item in getattr(rule, side)) for side in _SIDES}

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
        "rules": [_written(_Rule, rule, **placed(rule)) for rule in rules],
        "variables": [variable_json(v) for v in found.domain],
    }


def read_findings(document: Mapping[str, Any]) -> RuleFindings:
    """Read what `write_findings` wrote.

    Where a document lacks the variables, they have the categories that are items.

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


def itemsets_csv(itemsets: Iterable[Any], word: Word) -> str:
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


def rules_csv(rules: Iterable[Any], word: Word) -> str:
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

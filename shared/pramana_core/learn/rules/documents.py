"""Itemsets and rules as JSON and CSV.

In JSON, an itemset lists the indices of its items. CSV has a row for each, with labels as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from pydantic import Field

from pramana_core.csv_text import csv_text
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.common.options import RuleOptions
from pramana_core.learn.rules.decisions import VERDICTS
from pramana_core.learn.rules.itemsets import FoundItemsets, Itemset, Level
from pramana_core.learn.rules.rules import Rule

Word = Callable[[Any], str]
"""A function that returns an item's label, `variable=category`."""

_OTHER = "(another)"
"""The second category of a variable for which a document lists only one category."""


@dataclass(frozen=True)
class RuleFindings:
    """The examined itemsets, and the rules derived from them."""

    itemsets: FoundItemsets
    rules: tuple[Rule, ...] = ()


class _Item(DocumentPart):
    variable: str
    category: str


class _Document(DocumentPart):
    kind: Literal["association-rules"]
    records: int = Field(ge=1)
    options: RuleOptions
    items: tuple[_Item, ...]
    examined: int
    modelled_from: int | None
    itemsets: tuple[Itemset, ...]
    rules: tuple[Rule, ...] = ()
    variables: tuple[Variable, ...] | None = None


def write_findings(
    found: FoundItemsets, rules: Iterable[Rule] = (), *, examined: bool = True
) -> dict[str, Any]:
    """Return itemsets and rules as JSON data: all `examined` itemsets, or only frequent ones."""
    items = tuple(
        _Item(variable=name, category=found.domain[name].categories[code])
        for name, code in found.items
    )
    document = _Document.model_construct(
        kind="association-rules",
        records=found.records,
        options=found.options,
        items=items,
        examined=sum(len(level) for level in found.levels),
        modelled_from=found.modelled_from,
        itemsets=found.itemsets if examined else found.frequent,
        rules=tuple(rules),
    )
    written: dict[str, Any] = document.model_dump(mode="json")
    return written | {"variables": [variable_json(v) for v in found.domain]}


def read_findings(document: Mapping[str, Any]) -> RuleFindings:
    """Read the data of `write_findings`; if they list no variables, the items define them.

    Raises InputError: the data are not such a document. DomainError, UnknownVariable,
    UnknownCategory, OptionError: parts of the document contradict each other or the limits.
    """
    read = read_json(
        _Document,
        write_json(document),
        "a list of itemsets",
        "Give the JSON of itemsets or rules as pramana wrote it.",
    )
    domain = Domain(_of_items(read.items) if read.variables is None else read.variables)
    items = tuple((i.variable, domain[i.variable].code(i.category)) for i in read.items)
    named = [itemset.items for itemset in read.itemsets]
    named += [side for rule in read.rules for side in (rule.antecedent, rule.consequent)]
    if any(not 0 <= place < len(items) for places in named for place in places):
        raise InputError(
            "An itemset or a rule refers to an item that is not in the list of items.",
            where="items",
        )
    found = FoundItemsets(
        domain, read.records, read.options, items, _levels(read.itemsets), read.modelled_from
    )
    return RuleFindings(found, read.rules)


def _of_items(items: Sequence[_Item]) -> tuple[Variable, ...]:
    named: dict[str, list[str]] = {}
    for item in items:
        named.setdefault(item.variable, []).append(item.category)
    return tuple(Variable(n, (*c, _OTHER)[: max(2, len(c))]) for n, c in named.items())


def _levels(itemsets: Sequence[Itemset]) -> tuple[Level, ...]:
    longest = max((len(itemset.items) for itemset in itemsets), default=0)
    return tuple(
        _level([itemset for itemset in itemsets if len(itemset.items) == length], length)
        for length in range(1, longest + 1)
    )


def _level(of: Sequence[Itemset], length: int) -> Level:
    def column(name: str) -> Any:
        return np.array([getattr(one, name) for one in of], dtype=np.float64)

    low, high = np.array([one.interval for one in of], dtype=np.float64).reshape(-1, 2).T
    return Level(
        itemsets=np.array([one.items for one in of], dtype=np.int64).reshape(-1, length),
        support=column("support"),
        se_records=column("se_records"),
        se_population=column("se_population"),
        low=low,
        high=high,
        verdict=np.array([VERDICTS.index(one.verdict) for one in of], dtype=np.int64),
        p_value=column("p_value"),
        chosen=np.array([one.chosen for one in of], dtype=np.bool_),
    )


def findings_csv(kind: type[Itemset | Rule], found: Iterable[Any], word: Word) -> str:
    """Return itemsets or rules as CSV with a header; `word` returns the label of an item."""
    names = [field.name for field in fields(kind)]
    header: list[str] = []
    for name in names:
        header += [f"{name}_low", f"{name}_high"] if name.endswith("interval") else [name]
        header += ["length"] if name == "items" else []

    def cells(one: Any) -> Iterator[Any]:
        for name in names:
            value = getattr(one, name)
            if name in ("items", "antecedent", "consequent"):
                yield json.dumps([word(item) for item in value], ensure_ascii=False)
                if name == "items":
                    yield len(value)
                continue
            for part in value if isinstance(value, tuple) else [value]:
                yield None if isinstance(part, float) and not math.isfinite(part) else part

    return csv_text(header, map(cells, found))

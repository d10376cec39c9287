"""What was found as JSON read back: the documents of `export`, which say what the variables are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.documents import DocumentPart, read_json, variable_json, write_json
from pramana_core.learn.rules.decisions import VERDICTS, Verdict
from pramana_core.learn.rules.export import rules_json
from pramana_core.learn.rules.itemsets import FoundItemsets, Level
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.learn.rules.rules import Rule

_UNSAID = "(another)"
"""Stands for the second category of a variable of which a document names one."""

_Number = float | None
_Ends = tuple[_Number, _Number]
_Place = Annotated[int, Field(ge=0)]


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
    """Read what `write_found` or, without their variables, `export` wrote.

    Where the variables are not told, they have the categories that are items.

    Raises:
        InputError: it is no such document.
        DomainError, UnknownVariable, UnknownCategory, OptionError: a part of it cannot be.
    """
    read = read_json(
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
    if any(place >= len(items) for rule in read.rules for place in rule.places):
        raise InputError("A rule has an item that is not there.", where="rules")
    rules = tuple(rule.read(items) for rule in read.rules)
    return RuleFindings(found, rules)


def _of_items(items: Sequence[_Item]) -> tuple[Variable, ...]:
    named: dict[str, list[str]] = {}
    for item in items:
        named.setdefault(item.variable, []).append(item.category)
    return tuple(Variable(n, (*c, _UNSAID)[: max(2, len(c))]) for n, c in named.items())


class _Item(DocumentPart):
    variable: str
    category: str


class _Itemset(DocumentPart):
    items: tuple[_Place, ...] = Field(min_length=1)
    support: _Number
    se_records: _Number
    se_population: _Number
    interval: _Ends
    verdict: Verdict
    chosen: bool
    p_value: _Number
    consistent: _Number


class _Rule(DocumentPart):
    antecedent: tuple[_Place, ...]
    consequent: tuple[_Place, ...]
    antecedent_support: _Number
    consequent_support: _Number
    support: _Number
    support_se: _Number
    support_interval: _Ends
    confidence: _Number
    confidence_se: _Number
    confidence_interval: _Ends
    lift: _Number
    lift_se: _Number
    lift_interval: _Ends
    leverage: _Number
    leverage_se: _Number
    leverage_interval: _Ends

    @property
    def places(self) -> tuple[int, ...]:
        return self.antecedent + self.consequent

    def read(self, items: Sequence[tuple[str, int]]) -> Rule:
        told: dict[str, Any] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name in ("antecedent", "consequent"):
                told[name] = tuple(items[place] for place in value)
            elif isinstance(value, tuple):
                low, high = value
                told[name] = (-math.inf if low is None else low, _or(high, math.inf))
            else:
                told[name] = _or(value)
        return Rule(**told)


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


def _or(value: float | None, otherwise: float = math.nan) -> float:
    return otherwise if value is None else value


def _levels(itemsets: Sequence[_Itemset]) -> tuple[Level, ...]:
    longest = max((len(itemset.items) for itemset in itemsets), default=0)
    levels: list[Level] = []
    for length in range(1, longest + 1):
        of = [itemset for itemset in itemsets if len(itemset.items) == length]
        levels.append(_level(of, length, levels))
    return tuple(levels)


def _level(of: Sequence[_Itemset], length: int, before: Sequence[Level]) -> Level:
    def column(name: str) -> Any:
        return np.array([_or(getattr(one, name)) for one in of], dtype=np.float64)

    rows = np.array([one.items for one in of], dtype=np.int64).reshape(-1, length)
    places = {tuple(row): k for k, row in enumerate(before[-1].itemsets.tolist())} if before else {}
    # Of an itemset that is not listed itself nothing is asked, so that any place does.
    subsets = [
        [places.get((*row[:gone], *row[gone + 1 :]), 0) for gone in range(length)]
        for row in rows.tolist()
    ]
    low, high = (np.array([_or(one.interval[k]) for one in of], dtype=np.float64) for k in (0, 1))
    told = any(one.consistent is not None for one in of)
    return Level(
        rows,
        np.array(subsets, dtype=np.int64).reshape(-1, length),
        column("support"),
        column("se_records"),
        column("se_population"),
        low,
        high,
        np.array([VERDICTS.index(one.verdict) for one in of], dtype=np.int64),
        column("p_value"),
        np.array([one.chosen for one in of], dtype=np.bool_),
        column("consistent") if told else None,
    )

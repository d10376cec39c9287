"""Categories as items, and items in groups that are randomized together (Ma 7.1.2.1, 7.1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reproduce.data.ma_tables import TrueRecords
from pramana_core.channels import Symmetric
from pramana_core.domain import Domain, Variable
from pramana_core.errors import OptionError
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan

ABSENT, PRESENT = "no", "yes"

Named = tuple[str, str]
"""An item: a variable and one of its categories."""

MUSHROOM_GROUPS: tuple[tuple[Named, ...], ...] = (
    (("cap-surface", "f"), ("cap-surface", "s"), ("cap-surface", "y")),
    (
        ("stalk-surface-above-ring", "f"),
        ("stalk-surface-above-ring", "k"),
        ("stalk-surface-above-ring", "s"),
    ),
    (("ring-number", "n"), ("ring-number", "o"), ("ring-number", "t")),
    (("gill-attachment", "a"), ("gill-spacing", "c"), ("gill-spacing", "w")),
    (("class", "e"), ("class", "p")),
    (("bruises", "f"), ("bruises", "t")),
)
"""Four groups of three items and two of two; the other seven items are alone."""

ADULT_GROUPS: tuple[tuple[Named, ...], ...] = (
    (("workclass", "private"), ("workclass", "self-employed"), ("workclass", "other")),
    (("education-num", "<10"), ("education-num", "10-13"), ("education-num", ">=13")),
    (("marital-status", "married"), ("marital-status", "never"), ("marital-status", "formerly")),
    (("relationship", "spouse"), ("relationship", "not-in-family"), ("relationship", "other")),
    (("occupation", "office"), ("occupation", "other")),
    (("race", "white"), ("race", "other")),
    (("sex", "Female"), ("sex", "Male")),
    (("income", "<=50K"), ("income", ">50K")),
    (("age", "<28"), ("age", "28-38")),
)
"""Four groups of three items and five of two; the other eight items are alone."""


@dataclass(frozen=True)
class ItemGroups:
    """Binary variables, one per item, and which of them are randomized together."""

    groups: tuple[tuple[Variable, ...], ...]

    @property
    def domain(self) -> Domain:
        """The items, group by group."""
        return Domain(tuple(item for group in self.groups for item in group))

    def plan(self, p: float) -> Plan:
        """Return the plan that changes each group's combination with probability `p`.

        Any of the 2^|G| - 1 other combinations is reported with equal probability (Ma 7.1.2.1).
        """
        return Plan(
            tuple(
                Block(group, Symmetric.from_probability(2 ** len(group), p))
                for group in self.groups
            )
        )


def item_groups(domain: Domain, named: Sequence[Sequence[Named]]) -> ItemGroups:
    """Make the groups that are named, and one of each item that is not.

    Raises:
        OptionError: an item is in two groups.
        UnknownVariable, UnknownCategory: there is no such item.
    """
    for group in named:
        for name, category in group:
            domain[name].code(category)
    taken = [item for group in named for item in group]
    if len(set(taken)) < len(taken):
        raise OptionError("An item is in two groups.", where="named")
    alone = [((v.name, c),) for v in domain for c in v.categories if (v.name, c) not in taken]
    return ItemGroups(tuple(tuple(map(_variable, group)) for group in (*named, *alone)))


def transactions(records: TrueRecords, groups: ItemGroups) -> dict[str, Codes]:
    """Return which records have each item, codes by the item's name."""
    found: dict[str, Codes] = {}
    for variable in records.domain:
        for code, category in enumerate(variable.categories):
            name = item_name((variable.name, category))
            found[name] = (records.codes[variable.name] == code).astype("uint8")
    return {name: found[name] for name in groups.domain.names}


def item_name(item: Named) -> str:
    """Return the name of an item's variable, as `variable=category`."""
    return "=".join(item)


def _variable(item: Named) -> Variable:
    return Variable(item_name(item), (ABSENT, PRESENT))

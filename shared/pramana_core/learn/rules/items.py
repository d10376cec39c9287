"""Items: the categories of variables that itemsets are made of.

A variable's categories exclude each other, so that an itemset has at most one of each variable
(FRAPP 6). Where a category only says that something is absent, `present_items` leaves it out, as
in market baskets (Ma 7.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana_core.domain import Domain
from pramana_core.errors import UnknownCategory
from pramana_core.marginals.support_counts import Item


def all_items(domain: Domain) -> tuple[Item, ...]:
    """Return every category of every variable, in the order of the domain."""
    return tuple((v.name, code) for v in domain for code in range(v.size))


def chosen_items(domain: Domain, categories: Mapping[str, Sequence[str]]) -> tuple[Item, ...]:
    """Return the named categories of the named variables, in the order given.

    Raises:
        UnknownVariable, UnknownCategory: a name that the domain does not have.
    """
    return tuple(
        (name, domain[name].code(label)) for name, labels in categories.items() for label in labels
    )


def present_items(domain: Domain, label: str) -> tuple[Item, ...]:
    """Return the items of the variables that have a category `label`, say "yes".

    Raises:
        UnknownCategory: no variable has it.
    """
    items = tuple((v.name, v.code(label)) for v in domain if label in v.categories)
    if not items:
        raise UnknownCategory(
            f"No variable has a category {label!r}.",
            where="items",
            remedy=f"The variables are {list(domain.names)}.",
        )
    return items


def items_wanted(
    domain: Domain, present: str | None, items: Mapping[str, Sequence[str]] | None
) -> tuple[Item, ...]:
    """Return the items that a task asks for, of some variables.

    Args:
        domain: the variables.
        present: the one category that is an item, of the variables that have it.
        items: the categories that are items, of the variables that it names.

    Raises:
        UnknownVariable, UnknownCategory: a name that the domain does not have.
    """
    if present is not None:
        return present_items(domain, present)
    every = {v.name: v.categories for v in domain}
    return chosen_items(domain, {**every, **(items or {})})


def item_label(domain: Domain, item: Item) -> str:
    """Return an item in words: `variable=category`."""
    name, code = item
    return f"{name}={domain[name].categories[code]}"

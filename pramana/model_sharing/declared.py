"""What an owner declares of columns, and their names and labels, checked before a tree is grown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana_core.errors import OptionError, TableError
from pramana_core.model_sharing.core.attributes import CategoricalAttribute, TreeSchema
from pramana_core.model_sharing.core.taxonomies import Taxonomy
from pramana_core.model_sharing.exchange.schemas import LONGEST_LABEL


def require_declared(
    ranges: Any, categories: Any, taxonomies: Any, names: Sequence[str], target: str
) -> None:
    """Check the form of what is declared of columns, by name.

    Args:
        ranges: of some columns the least and the greatest number.
        categories: of some columns all labels.
        taxonomies: of some columns which categories belong together.
        names: the attributes.
        target: the column of the class.

    Raises:
        OptionError: one of them is no mapping, is of other columns, or has another form.
    """
    declared = {"ranges": ranges, "categories": categories, "taxonomies": taxonomies}
    for argument, given in declared.items():
        _require_of(given, argument, [*names, target])
    for name, pair in (ranges or {}).items():
        if not _is_pair(pair):
            raise OptionError(
                f"ranges[{name!r}] must be the least and the greatest number, such as (0, 120), not"
                f" {shown(pair)}.",
                where="ranges",
            )
    for name, labels in (categories or {}).items():
        if isinstance(labels, Mapping) or not hasattr(labels, "__iter__"):
            raise OptionError(
                f"categories[{name!r}] must be a list of labels, not {shown(labels)}.",
                where="categories",
            )
    for name, groups in (taxonomies or {}).items():
        if not isinstance(groups, Taxonomy | Mapping | list | tuple):
            raise OptionError(
                f"taxonomies[{name!r}] must be a dict of lists by the name of the group, or rows of"
                f" a category and its ancestors, not {shown(groups)}.",
                where="taxonomies",
            )


def _require_of(given: Any, argument: str, names: Sequence[str]) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise OptionError(
            f"{argument} must be a dict by column, not {shown(given)}.", where=argument
        )
    if unknown := [name for name in given if name not in names]:
        raise OptionError(
            f"{argument} names {quoted(unknown)}, no column of the tree; it has {quoted(names)}.",
            where=argument,
        )


def _is_pair(given: Any) -> bool:
    try:
        low, high = given
        float(low), float(high)
    except (TypeError, ValueError):
        return False
    return not isinstance(given, str)


def undeclared(schema: TreeSchema, ranges: Any, categories: Any) -> list[str]:
    """Return the columns of a tree whose range or categories were read from the records."""
    found = [
        one.name
        for one in schema.attributes
        if one.name not in ((categories if isinstance(one, CategoricalAttribute) else ranges) or {})
    ]
    if schema.target.name not in (categories or {}):
        found.append(schema.target.name)
    return found


def require_names(names: Sequence[str]) -> None:
    """Check that a message can hold the names of columns. Raises TableError."""
    for name in names:
        if not _fits(name):
            raise TableError(
                f"frame has a column called {name[:40]!r}, which cannot be in a message; give it a"
                f" name of 1 to {LONGEST_LABEL} letters without line breaks.",
                where=name[:40],
            )


def require_labels(schema: TreeSchema) -> None:
    """Check that a message can hold the categories of a tree. Raises TableError.

    A category is somebody's value: the sentence says only whose column it is in.
    """
    columns = {schema.target.name: schema.target.categories} | {
        one.name: one.categories
        for one in schema.attributes
        if isinstance(one, CategoricalAttribute)
    }
    for name, labels in columns.items():
        if wrong := sum(not _fits(label) for label in labels):
            raise TableError(
                f"Column {name!r} has categories that cannot be in a message, {wrong} of"
                f" {len(labels)}: each must have 1 to {LONGEST_LABEL} letters, not spaces alone,"
                " without line breaks; rename them.",
                where=name,
            )


def _fits(label: str) -> bool:
    plain = all(ord(letter) >= 32 and ord(letter) != 127 for letter in label)
    return bool(label.strip()) and len(label) <= LONGEST_LABEL and plain

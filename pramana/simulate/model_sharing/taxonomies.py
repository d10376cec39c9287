"""Taxonomies in a TOML file: which categories of a table's columns belong together."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana_core.errors import OptionError, PramanaError
from pramana_core.mixed.table import CategoricalColumn

if TYPE_CHECKING:
    from pramana.simulate.model_sharing.tables import SharingTable
    from pramana_core.model_sharing.core.taxonomies import Groups, Taxonomy

_OPTION = "--taxonomies"


def read_taxonomies(path: Path, table: str) -> dict[str, Groups]:
    """Return the groups of a table's categories, by column.

    The file has a section `[TABLE.COLUMN]` for each column, with the lists of its groups' members
    by the name of the group; a group of groups is a section of its own, `[TABLE.COLUMN.GROUP]`.

    Args:
        path: the file.
        table: what the table is called in it.

    Raises:
        OptionError: it cannot be read, is no TOML, has no section of the table, or a group is
            neither a list of categories nor one of groups.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(f"{path} cannot be read.", where=_OPTION) from error
    except ValueError as error:
        raise OptionError(f"{path} is no TOML file: {error}.", where=_OPTION) from error
    found = content.get(table)
    if not isinstance(found, dict) or not found:
        raise OptionError(
            f"{path} has no sections of the table {table!r}, such as [{table}.COLUMN].",
            where=_OPTION,
        )
    for column, groups in found.items():
        if not isinstance(groups, dict) or not _are_groups(groups):
            raise OptionError(
                f"{path} must have lists of categories by group for {table}.{column}, such as"
                ' warm = ["red", "yellow"].',
                where=_OPTION,
            )
    return found


def taxonomies_for(table: SharingTable, path: Path, name: str) -> dict[str, Taxonomy]:
    """Return the taxonomies of a table's columns, checked against their categories.

    Args:
        table: the records.
        path: the file.
        name: what the table is called in it.

    Raises:
        OptionError: as `read_taxonomies`; or a section is of no column, of the class or of numbers,
            or its groups do not part the column's categories.
    """
    from pramana_core.model_sharing.core.taxonomies import Taxonomy

    found = {}
    for column, groups in read_taxonomies(path, name).items():
        if column not in table.records.names or column == table.target:
            raise OptionError(
                f"{path} has a section [{name}.{column}], which is no column to tell"
                f" {table.target!r} from.",
                where=_OPTION,
            )
        known = table.records[column]
        if not isinstance(known, CategoricalColumn):
            raise OptionError(
                f"{path} has a section [{name}.{column}], a column of numbers, which has no"
                " taxonomy.",
                where=_OPTION,
            )
        try:
            found[column] = Taxonomy.of(known.categories, groups)
        except PramanaError as error:
            raise OptionError(
                f"[{name}.{column}] of {path} must have each category of the column in one group,"
                f" and no other: {error.message}",
                where=_OPTION,
            ) from error
    return found


def called(path: Path) -> str:
    """Return what a table is called in a file of taxonomies: its file's name, no ending."""
    return Path(path.name.removesuffix(".gz")).stem


def _are_groups(groups: Mapping[str, Any]) -> bool:
    return bool(groups) and all(
        _are_groups(members)
        if isinstance(members, dict)
        else isinstance(members, list) and all(isinstance(one, str) for one in members)
        for members in groups.values()
    )

"""Tables for a simulation of shared trees, and models of tables that were published.

Numbers stay numbers, and incomplete records go; what is learned of generalized records is asked
about records as they are.

Also here:

* Taxonomies in a TOML file: which categories of a table's columns belong together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.simulate.tables import read_cells
from pramana_core.errors import EmptyTable, MissingColumn, OptionError, PramanaError, TableError
from pramana_core.mixed import CategoricalColumn, Floats, MixedTable, read_mixed
from pramana_core.model_sharing.attributes import TreeSchema
from pramana_core.model_sharing.global_models.learning import (
    GlobalName,
    GlobalOptions,
    learn_global,
)
from pramana_core.model_sharing.global_models.model import GlobalModel
from pramana_core.model_sharing.requirements import Hierarchy, generalized, hierarchies_of
from pramana_core.text_files import read_text

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.model_sharing.attributes import Groups, Taxonomy

MISSING = ("", "?")
"""Cells that say that nothing is known."""

FEWEST = 2
"""A class has at least so many categories, and a table so many records for each fold."""


@dataclass(frozen=True)
class SharingTable:
    """Records of which owners could have a part each.

    Attributes:
        name: the file's name.
        records: the columns, the target among them as categories.
        target: the column that holds the class.
        note: what was done to the table, in sentences; empty if nothing.
    """

    name: str
    records: MixedTable
    target: str
    note: str = ""


def read_sharing_table(path: Path, target: str) -> SharingTable:
    """Read a CSV or Parquet file.

    Columns of numbers alone are numeric, all others categories. Records with an empty cell or a
    question mark are left out, and columns of one value.

    Args:
        path: the file.
        target: the column that holds the class.

    Raises:
        TableUnreadable: absent, or not the format its name says.
        EmptyTable: no complete record.
        MissingColumn: no column is called like the target.
        TableError: the target has one value, or nearly as many as there are records; or no other
            column can be used.
    """
    return sharing_table(read_cells(path), target, path.name)


def sharing_table(frame: pd.DataFrame, target: str, name: str) -> SharingTable:
    """Return a frame of text cells as a table to simulate. Raises as `read_sharing_table`."""
    import pandas as pd

    if target not in frame.columns:
        raise MissingColumn(
            f"{name} has no column {target!r}.",
            where="--target",
            remedy=f"It has {', '.join(map(str, frame.columns))}.",
        )
    complete = frame[~frame.isin(MISSING).any(axis=1)].reset_index(drop=True)
    if complete.empty:
        raise EmptyTable(f"{name} has no complete record.", where="--table")
    notes = []
    if dropped := len(frame) - len(complete):
        notes.append(f"{dropped:,} records with cells that are empty or '?' were left out.")
    constant = [n for n in complete.columns if n != target and complete[n].nunique() == 1]
    if constant:
        notes.append(f"Columns of one value were left out: {', '.join(constant)}.")
    _require_classes(complete[target], name)
    kept = complete.drop(columns=constant)
    if kept.shape[1] < FEWEST:
        raise TableError(f"{name} has no column to tell {target!r} from.", where="--table")
    for column in kept.columns:
        if column == target:
            continue
        numbers = pd.to_numeric(kept[column], errors="coerce")
        if numbers.notna().all():
            kept[column] = numbers.astype("float64")
    return SharingTable(name, read_mixed(kept, name), target, " ".join(notes))


def _require_classes(column: pd.Series[str], name: str) -> None:
    classes = int(column.nunique())
    if classes < FEWEST:
        raise TableError(
            f"Column {str(column.name)!r} of {name} has one value: there is nothing to predict.",
            where="--target",
        )
    if classes > max(FEWEST, len(column) // 4):
        raise TableError(
            f"Column {str(column.name)!r} of {name} has {classes} values in {len(column)} records,"
            " too many for a class.",
            where="--target",
            remedy="Name a column of few categories, or put its numbers into groups before.",
        )


# Taxonomies in a TOML file: which categories of a table's columns belong together.

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
        content = tomllib.loads(read_text(path))
    except OSError:
        raise OptionError(f"{path} cannot be read.", where=_OPTION) from None
    except ValueError as error:
        raise OptionError(f"{path} is no TOML file: {error}.", where=_OPTION) from None
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
    from pramana_core.model_sharing.attributes import Taxonomy

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
            ) from None
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


@dataclass(frozen=True)
class PublishedModel:
    """A model of a published table.

    Its attributes have generalized values, so that records it is asked about are generalized to
    the same levels first: which these are is public. The paper does not say how its test records
    are classified by such a model; without this they would have values that it has never seen.

    Attributes:
        schema: of the records as they are.
        hierarchies: of the attributes.
        levels: at which each is published.
        model: learned from the published table.
    """

    schema: TreeSchema
    hierarchies: tuple[Hierarchy, ...]
    levels: Mapping[str, int]
    model: GlobalModel

    @property
    def kind(self) -> str:
        """Which model it is."""
        return self.model.kind

    def predict(self, table: MixedTable) -> npt.NDArray[np.intp]:
        """Return the class code of each of n records."""
        return self.model.predict(self._at_levels(table))

    def probabilities(self, table: MixedTable) -> Floats:
        """Return the probability of each class of n records: n x classes."""
        return self.model.probabilities(self._at_levels(table))

    def _at_levels(self, table: MixedTable) -> MixedTable:
        return generalized(self.schema, self.hierarchies, self.levels, table)[1]


def learn_published(
    schema: TreeSchema,
    table: MixedTable,
    classes: npt.NDArray[np.intp],
    levels: Mapping[str, int],
    model: GlobalName = "tree",
    options: GlobalOptions | None = None,
) -> PublishedModel:
    """Return the model of records published at some levels.

    Args:
        schema: the class and the attributes, with their taxonomies.
        table: the attributes of n records.
        classes: their class codes, n.
        levels: of each attribute, by name.
        model: its kind.
        options: how it is learned.

    Raises:
        MissingColumn, TableError, UnknownCategory: see `TreeSchema.read`.
        NotInstalled: the learner needs what is not installed.
    """
    hierarchies = hierarchies_of(schema)
    public, records = generalized(schema, hierarchies, levels, table)
    learned = learn_global(public, records, classes, model, options)
    return PublishedModel(schema, hierarchies, levels, learned)

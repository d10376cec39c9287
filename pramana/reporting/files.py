"""Reports as one Parquet file: codes and pseudonyms in columns, all the rest beside the schema.

Also here:

* What was reported, as people read it: labels, sets of items, and what is missing.
* Lists of variables' names as people give them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, ValidationError

from pramana.frames.codes import decode, encode
from pramana.frames.sentences import quoted
from pramana.frames.tables import Frame, as_frame, shown
from pramana.reporting.tabulating import BlockDraw
from pramana_core.alike import first_few
from pramana_core.channels import RESOLUTION
from pramana_core.domain import Domain, Variable
from pramana_core.errors import (
    MissingColumn,
    OptionError,
    PramanaError,
    StoreCorrupt,
    TableError,
    UnknownCategory,
)
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.wire.base import KEY_COLUMN, Message
from pramana_core.wire.channels import BlockMessage, PlanMessage
from pramana_core.wire.parts import Pseudonyms, RecordSchema, code_dtype, key_array, key_column

if TYPE_CHECKING:
    import pandas as pd


VERSION = 1
_MARK = b"pramana-reports"
"""Under this key stands everything that is not a column, as JSON."""
_PICKLES = (".pkl", ".pickle")


class _DrawnMessage(Message):
    owner: str
    block: BlockMessage
    draw: str
    people: str

    @classmethod
    def of(cls, drawn: BlockDraw) -> _DrawnMessage:
        block = BlockMessage.model_validate(drawn.block.as_dict())
        return cls(owner=drawn.owner, block=block, draw=drawn.draw, people=drawn.people)

    def to_drawn(self) -> BlockDraw:
        return BlockDraw(self.owner, self.block.to_block(), self.draw, self.people)


class _Described(Message):
    version: Annotated[int, Field(strict=True)]
    kind: Literal["reports"]
    digest: str
    study: str | None
    plan: PlanMessage
    draws: list[_DrawnMessage] | None
    seal: str

    def sealed(self) -> str:
        """Return the digest of what is in no other: the study and the draws."""
        text = self.model_dump_json(include={"study", "draws"})
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Contents:
    """What a file of reports holds (see `Reports`)."""

    plan: Plan
    codes: Mapping[str, Codes]
    pseudonyms: Pseudonyms | None
    draws: tuple[BlockDraw, ...] | None
    study: str | None


def write_contents(contents: Contents, digest: str, path: str | Path) -> None:
    """Write reports. Raises OptionError where they cannot be."""
    plan, drawn = contents.plan, contents.draws
    described = _Described(
        version=VERSION,
        kind="reports",
        digest=digest,
        study=contents.study,
        plan=PlanMessage.from_plan(plan),
        draws=None if drawn is None else [_DrawnMessage.of(one) for one in drawn],
        seal="",
    )
    described = described.model_copy(update={"seal": described.sealed()})
    schema = RecordSchema.of(plan).arrow
    arrays = [
        pa.array(contents.codes[field.name].astype(field.type.to_pandas_dtype(), copy=False))
        for field in list(schema)[1:]
    ]
    if contents.pseudonyms is None:
        schema = schema.remove(0)
    else:
        arrays.insert(0, key_column(contents.pseudonyms))
    schema = schema.with_metadata({_MARK: described.model_dump_json().encode()})
    table = pa.Table.from_arrays(arrays, schema=schema)
    write_whole(path, lambda file: pq.write_table(table, file))


def read_contents(path: str | Path) -> tuple[Contents, str]:
    """Return what a file of reports holds, and the digest of it that the file tells.

    Raises TableError, StoreCorrupt.
    """
    place = require_path(path)
    described, file = _opened(place)
    try:
        plan = described.plan.to_plan()
        wanted = RecordSchema.of(plan).arrow
        names = [name for name in wanted.names if name in file.schema_arrow.names]
        combined = file.read(columns=names).cast(pa.schema([wanted.field(name) for name in names]))
        codes = {name: combined.column(name).to_numpy() for name in plan.reported_sizes}
        keyed = KEY_COLUMN in names
        keys = key_array(combined.combine_chunks().column(KEY_COLUMN)) if keyed else None
        listed = described.draws
        draws = None if listed is None else tuple(one.to_drawn() for one in listed)
    except (PramanaError, KeyError, ValueError, OSError, pa.ArrowException):
        raise not_what_was_saved(place) from None
    if described.seal != described.sealed():
        raise not_what_was_saved(place)
    return Contents(plan, codes, keys, draws, described.study), described.digest


def not_what_was_saved(path: str | Path) -> StoreCorrupt:
    """Return the error of a file that was changed, or damaged."""
    return StoreCorrupt(
        f"path {str(path)!r} holds other reports than were saved there: they are not those of the"
        " digest in the file.",
        where="path",
    )


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is there whole or not at all.

    Raises OptionError.
    """
    place = require_path(path)
    if place.suffix.lower() in _PICKLES:
        raise OptionError(
            f"path {str(place)!r} has the name of a pickle, and none is written, for whoever opens"
            f" one runs what is in it; name it {place.stem}.json, or {place.stem}.parquet for"
            " reports and masked records.",
            where="path",
        )
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        write(temporary)
        temporary.replace(place)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # What a library says of it may be sentences.
        why = os.strerror(error.errno) if error.errno else "an error of the disk"
        raise OptionError(f"path {str(place)!r} cannot be written ({why}).", where="path") from None


def require_path(path: object) -> Path:
    """Return a path. Raises OptionError where something else was given."""
    if not isinstance(path, str | Path) or not Path(path).name:
        raise OptionError(
            f"path must be the name of a file, not {shown(path)}.", where="path"
        ) from None
    return Path(path)


def require_version(version: object, newest: int, place: Path) -> None:
    """Refuse what a later version of Pramana wrote. Raises TableError."""
    if version != newest:
        raise TableError(
            f"path {str(place)!r} was written in version {quoted([version])} of the format; this"
            f" Pramana reads version {newest}.",
            where="path",
        )


def _opened(place: Path) -> tuple[_Described, pq.ParquetFile]:
    """Return the metadata and the open file; no column is read yet."""
    if not place.is_file():
        raise TableError(f"path {str(place)!r} must be a file that exists.", where="path")
    try:
        file = pq.ParquetFile(place)
        metadata = (file.schema_arrow.metadata or {})[_MARK]
        version = json.loads(metadata).get("version")
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError, RecursionError):
        raise _not_reports(place) from None
    require_version(version, VERSION, place)
    try:
        return _Described.model_validate_json(metadata), file
    except ValidationError:
        raise _not_reports(place) from None


def _not_reports(place: Path) -> TableError:
    return TableError(
        f"path {str(place)!r} must be a file that Reports.save wrote; it is not.", where="path"
    )


# What was reported, as people read it: labels, sets of items, and what is missing.
#
# Most channels report a category. Those of `items` report any set of a variable's categories, which
# is a column of true and false for each of them, called `variable=category` as by mlxtend and
# `pandas.get_dummies`; a matrix with more or fewer columns than rows reports numbers without label.


class Form(Enum):
    """What the reports of a variable look like."""

    CATEGORY = "a category"
    SOMETIMES = "a category, or withheld"
    NOTHING = "never anything"
    ITEMS = "a set of categories"
    NUMBER = "a number without a label"


def form_of(block: Block, name: str) -> Form:
    """Return the form in which a block reports one of its variables."""
    place = block.names.index(name)
    true, reported = block.variables[place].size, block.reported_shape[place]
    if block.channel.choices:
        return Form.SOMETIMES
    if reported == 1:
        return Form.NOTHING
    if block.channel.items:
        return Form.ITEMS
    return Form.CATEGORY if reported == true else Form.NUMBER


def forms(plan: Plan) -> dict[str, Form]:
    """Return the form of each variable's reports."""
    return {name: form_of(block, name) for block in plan.blocks for name in block.names}


def item_column(variable: Variable, category: str) -> str:
    """Return the name of the column that says whether an item was reported."""
    return f"{variable.name}={category}"


def write_labels(plan: Plan, codes: Mapping[str, Codes]) -> pd.DataFrame:
    """Return reported codes as a frame with N rows; what was withheld is missing (NaN)."""
    import pandas as pd

    columns: dict[str, pd.Series] = {}
    for name, form in forms(plan).items():
        variable, own = plan.domain[name], codes[name]
        if form is Form.ITEMS:
            columns |= {
                item_column(variable, category): pd.Series((own.astype(np.int64) >> bit) & 1 == 1)
                for bit, category in enumerate(variable.categories)
            }
        elif form is Form.NUMBER:
            columns[name] = pd.Series(own)
        else:
            told = np.full(len(own), variable.size) if form is Form.NOTHING else own
            columns[name] = decode({name: told}, Domain((variable,)))[name]
    return pd.DataFrame(columns)


def read_labels(plan: Plan, frame: Frame, argument: str) -> dict[str, Codes]:
    """Return the codes of reported labels: the reverse of `write_labels`.

    Of a variable that is not randomized, cells are read as an owner's own: the categories
    `(empty)` and `(other)` take theirs.

    Raises TableError, MissingColumn, UnknownCategory.
    """
    table = as_frame(frame, argument)
    wanted = forms(plan)
    _require_columns(table, plan, wanted, argument)
    true = {n for block in plan.blocks if block.channel.is_identity for n in block.names}
    codes: dict[str, Codes] = {}
    for name, form in wanted.items():
        variable = plan.domain[name]
        if form is Form.ITEMS:
            codes[name] = _items(table, variable, argument)
        elif form is Form.NUMBER:
            codes[name] = _numbers(table[name], plan.reported_sizes[name], argument)
        elif form is Form.NOTHING:
            codes[name] = _nothing(table, name, argument)
        else:
            sometimes = form is Form.SOMETIMES
            own = Domain((variable,))
            found = encode(table, own, argument, missing=sometimes, reported=name not in true)[name]
            codes[name] = found.astype(code_dtype(plan.reported_sizes[name]))
    for block in plan.blocks:
        _require_sampled(block, codes, argument)
    return codes


def _require_columns(
    table: pd.DataFrame, plan: Plan, wanted: Mapping[str, Form], argument: str
) -> None:
    names = [
        column
        for name, form in wanted.items()
        if form is not Form.NOTHING
        for column in (
            [item_column(plan.domain[name], c) for c in plan.domain[name].categories]
            if form is Form.ITEMS
            else [name]
        )
    ]
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise MissingColumn(
            f"{argument} has no column {', '.join(map(repr, absent))}; the plan reports {names} and"
            f" it has {list(table.columns)}.",
            where=argument,
        )


def _items(table: pd.DataFrame, variable: Variable, argument: str) -> Codes:
    total = np.zeros(len(table), dtype=np.int64)
    for bit, category in enumerate(variable.categories):
        column = table[item_column(variable, category)]
        if not column.isin([True, False]).all():
            raise UnknownCategory(
                f"Column {column.name!r} of {argument} must hold True or False in every row.",
                where=argument,
            )
        total |= column.to_numpy(dtype=bool).astype(np.int64) << bit
    return total.astype(code_dtype(1 << variable.size))


def _numbers(column: pd.Series, size: int, argument: str) -> Codes:
    import pandas as pd

    if not pd.api.types.is_integer_dtype(column.dtype) or not column.between(0, size - 1).all():
        raise UnknownCategory(
            f"Column {column.name!r} of {argument} must hold whole numbers from 0 to {size - 1}:"
            " the plan reports it in so many codes, which have no labels.",
            where=argument,
        )
    return column.to_numpy().astype(code_dtype(size))


def _nothing(table: pd.DataFrame, name: str, argument: str) -> Codes:
    filled = 0 if name not in table.columns else int(table[name].notna().sum())
    if filled:
        raise TableError(
            f"Column {name!r} of {argument} must be empty, for the plan withholds it; it holds"
            f" something in {filled} of {len(table)} rows.",
            where=argument,
        )
    return np.zeros(len(table), dtype=np.uint8)


def _require_sampled(block: Block, codes: Mapping[str, Codes], argument: str) -> None:
    """Refuse records that report other variables together than a sampled block can."""
    channel = block.channel
    if not channel.choices:
        return
    reported = np.stack([codes[v.name] != v.size for v in block.variables], axis=1)
    packed = {row.tobytes() for row in np.unique(np.packbits(reported, axis=1), axis=0)}
    possible = np.zeros((len(channel.choices) + 1, len(block.variables)), dtype=np.bool_)
    for row, choice in zip(possible, channel.choices, strict=False):
        row[list(choice.axes)] = True
    nothing = sum(choice.weight for choice in channel.choices) < RESOLUTION
    rows = np.packbits(possible if nothing else possible[:-1], axis=1)
    if not packed <= {row.tobytes() for row in rows}:
        raise TableError(
            f"Rows of {argument} report other variables of {first_few(block.names)} together than"
            " the plan samples; an empty cell must be one that was withheld.",
            where=argument,
        )


# Lists of variables' names as people give them.


def names_of(given: object, argument: str, *, one: bool = False) -> tuple[str, ...]:
    """Return names given as a list, or as pandas and numpy have them, such as `frame.columns`.

    Args:
        given: what was passed.
        argument: the parameter that it was passed as.
        one: whether a name alone is understood as a list of it.

    Raises OptionError.
    """
    if one and isinstance(given, str):
        return (given,)
    listed = given if isinstance(given, str) or not hasattr(given, "tolist") else given.tolist()
    if isinstance(listed, str) or not isinstance(listed, Sequence):
        wanted = "a name or a list of names" if one else "a list of names"
        raise OptionError(f"{argument} must be {wanted}, not {shown(listed)}.", where=argument)
    for name in listed:
        if not isinstance(name, str):
            raise OptionError(
                f"{argument} must be a list of names, but holds {shown(name)}.", where=argument
            )
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice or not listed:
        fault = f"names {twice[0]!r} twice" if twice else "is empty"
        raise OptionError(f"{argument} {fault}; it must name each variable once.", where=argument)
    return tuple(listed)

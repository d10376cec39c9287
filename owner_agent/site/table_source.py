"""The location of a table, and the format of its text, which is detected or configured."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pramana_core.errors import OptionError

PARQUET = ".parquet"
SHEETS = (".xlsx", ".xls", ".ods")
TABLE_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", PARQUET, *SHEETS)

DATABASES = ("postgresql://", "sqlite:///")
"""Prefixes of database addresses."""

_PASSWORD = re.compile(r"://[^@]*:[^@]*@|[?&](?:ssl)?password=", re.IGNORECASE)

MARKED = "utf-8"
"""The default encoding of CSV files without a byte order mark."""


@dataclass(frozen=True)
class TableSource:
    """A table in a file or a database; `owner_agent.table.table` reads it in chunks.

    Attributes:
        path: the file, whose suffix determines the format, or a pattern such as folder/*.parquet;
            unused for a database.
        encoding: Python's name of the encoding of a CSV file without a byte order mark.
        separator: the character between cells of CSV; None to detect it.
        decimal_commas: columns of numbers such as 22,5 and 1.234,5.
        dates_as_years: columns of dates; only their years are read.
        database: the address of the database, or "" for a file.
        query: the name of a table in the database, or a SELECT.
        order: the column that orders the rows of a database, or "".
    """

    path: Path
    encoding: str = MARKED
    separator: str | None = None
    decimal_commas: tuple[str, ...] = ()
    dates_as_years: tuple[str, ...] = ()
    database: str = ""
    query: str = ""
    order: str = ""

    def __post_init__(self) -> None:
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise OptionError(
                f"The encoding {self.encoding!r} is unknown.",
                where="encoding",
                remedy="Use Python's name, such as utf-8, cp1252, cp1250 or utf-16.",
            ) from None
        if self.separator is not None and len(self.separator) != 1:
            raise OptionError("The separator must be one character.", where="separator")

    def __str__(self) -> str:
        return self.database or str(self.path)

    @property
    def parts(self) -> list[Path]:
        """The file, or the files that match the pattern, sorted by name."""
        path = self.path
        if "*" not in path.name:
            return [path]
        found = path.parent.glob(path.name)
        return sorted(part for part in found if not part.name.startswith("."))

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet."""
        return self.path.name.lower().endswith(PARQUET)

    @property
    def is_sheet(self) -> bool:
        """Whether the file is a workbook of a spreadsheet program."""
        return self.path.name.lower().endswith(SHEETS)


def has_password(database: str) -> bool:
    """Whether an address contains a password, even one in percent-encoded letters."""
    return bool(_PASSWORD.search(database) or _PASSWORD.search(unquote(database)))


def is_database(table: str) -> bool:
    """Whether the site file's `table` is the address of a database."""
    return table.startswith(DATABASES)


def located(database: str, folder: Path, start: Path | None = None) -> str:
    """Return a database's address, with the path of its SQLite file resolved from `folder`.

    With `start`, the file's path is relative to `start`.
    """
    file = database.removeprefix("sqlite:///")
    if file == database:
        return database
    path = folder / file
    return f"sqlite:///{path if start is None else os.path.relpath(path, start)}"

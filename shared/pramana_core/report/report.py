"""A report: sections of figures, sentences, pictures and a table, and its JSON form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""A table row: JSON values by name."""


def never(_row: Row) -> bool:
    """Return False."""
    return False


def always(_row: Row) -> bool:
    """Return True."""
    return True


@dataclass(frozen=True)
class Fact:
    """A prominent value with a caption."""

    figure: str
    caption: str
    high: bool = False


@dataclass(frozen=True)
class Sentence:
    """A sentence, its kind, and whether a terminal shows it. Backticks mark `code`."""

    words: str
    kind: Literal["plain", "note", "point", "warning", "grave", "alarm", "private"] = "plain"
    brief: bool = True


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title, write: the heading, and a function that returns a row's cell.
        number, brief, high: whether cells are numbers, appear on a terminal, or are highlighted.
    """

    title: str
    write: Callable[[Row], str]
    number: bool = True
    brief: bool = True
    high: Callable[[Row], bool] = never


@dataclass(frozen=True)
class Table:
    """Rows and how to show them: `quiet` rows are pale, and a terminal shows only `brief` rows."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    quiet: Callable[[Row], bool] = never
    brief: Callable[[Row], bool] = always


@dataclass(frozen=True)
class Picture:
    """A picture drawn on demand: `draw` returns SVG that loads nothing."""

    description: str
    draw: Callable[[], str]


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        title, sentences: the heading, "" for none, and the text.
        table, pictures, facts, text: the content; `text` is in columns, like a tree.
        notes: explanations in small type, on pages only.
        folded: a summary under which a page hides table and text.
        minor, brief: whether the heading has a lower rank, and whether a terminal shows it.
    """

    title: str = ""
    sentences: Sequence[str | Sentence] = ()
    table: Table | None = None
    pictures: Sequence[Picture] = ()
    facts: Sequence[Fact] = ()
    notes: Sequence[str] = ()
    text: str = ""
    folded: str = ""
    minor: bool = False
    brief: bool = True

    @property
    def said(self) -> list[Sentence]:
        """The sentences, each with its kind."""
        return [Sentence(one) if isinstance(one, str) else one for one in self.sentences]


@dataclass(frozen=True)
class Report:
    """A report: a title, `sections` for people, `numbers` as JSON for scripts, a final line `foot`.

    `beside` has the texts of further files to write, by the suffix of the file's name.
    """

    title: str
    sections: Sequence[Section]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    foot: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)

    def said(self, *kinds: str) -> Iterator[str]:
        """Yield the sentences of the given kinds."""
        for section in self.sections:
            yield from (one.words for one in section.said if one.kind in kinds)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: the numbers, the alarms and the warnings."""
        found = {
            "alarms": list(self.said("alarm")),
            "warnings": list(self.said("warning", "grave")),
        }
        return {**found, **self.numbers}

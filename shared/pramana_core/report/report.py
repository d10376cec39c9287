"""A report: sections of figures, sentences, pictures and a table, and its form as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""A row of a table: values by name, as JSON holds them."""


def never(_row: Row) -> bool:
    """Return False."""
    return False


def always(_row: Row) -> bool:
    """Return True."""
    return True


@dataclass(frozen=True)
class Fact:
    """A figure that stands out, with a caption."""

    figure: str
    caption: str
    high: bool = False


@dataclass(frozen=True)
class Sentence:
    """A sentence, its weight, and whether a terminal shows it; `code` in backticks is typed."""

    words: str
    kind: Literal["plain", "note", "point", "warning", "grave", "alarm", "private"] = "plain"
    brief: bool = True


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        title, write: its heading, and a function that returns a row's cell.
        number, brief, high: whether cells are numbers, shown on a terminal, or highlighted by row.
    """

    title: str
    write: Callable[[Row], str]
    number: bool = True
    brief: bool = True
    high: Callable[[Row], bool] = never


@dataclass(frozen=True)
class Table:
    """Rows and how they are shown; `quiet` rows are pale, and a terminal shows the `brief` ones."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    quiet: Callable[[Row], bool] = never
    brief: Callable[[Row], bool] = always


@dataclass(frozen=True)
class Picture:
    """A picture that is drawn when it is shown: `draw` returns SVG that loads nothing."""

    description: str
    draw: Callable[[], str]


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        title, sentences: its heading, "" for none, and what it says.
        table, pictures, facts, text: what it shows; text is in columns, such as a file or a tree.
        notes: explanations in small letters, on pages.
        folded: a summary, under which a page hides table and text.
        minor, brief: whether its heading is a lower one, and whether a terminal shows it.
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
        """The sentences, each with its weight."""
        return [Sentence(one) if isinstance(one, str) else one for one in self.sentences]


@dataclass(frozen=True)
class Report:
    """A report: a title, `sections` for people, `numbers` as JSON for scripts, and a last line,
    `foot`.

    `beside` has further texts to write, by their suffix.
    """

    title: str
    sections: Sequence[Section]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    foot: str = ""
    beside: Mapping[str, str] = field(default_factory=dict)

    def said(self, *kinds: str) -> Iterator[str]:
        """Yield the sentences of some kinds."""
        for section in self.sections:
            yield from (one.words for one in section.said if one.kind in kinds)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON: the numbers, and what must not be overlooked."""
        found = {
            "alarms": list(self.said("alarm")),
            "warnings": list(self.said("warning", "grave")),
        }
        return {**found, **self.numbers}

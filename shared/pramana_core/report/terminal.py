"""Printing a report to a terminal: its brief sections, as text and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pramana_core.report.report import Fact, Report, Section, Sentence, Table

if TYPE_CHECKING:
    from rich.console import Console

MOST_LINES = 24
"""The maximum number of lines of a text that a terminal shows; pages show all."""

_STYLES = {"note": "dim", "warning": "bold yellow", "grave": "bold yellow"}
_BEFORE = {"point": "* ", "warning": "warning: ", "grave": "warning: "}


def print_report(report: Report, out: Console, loud: Console) -> None:
    """Print the brief content of a report. Alarms go to the console `loud`."""
    out.print(report.title, style="bold", markup=False)
    print_sections(report.sections, out, loud)


def print_sections(sections: Iterable[Section], out: Console, loud: Console) -> None:
    """Print the brief sections; alarms go to the console `loud`."""
    for section in sections:
        if section.brief:
            _print_section(section, out, loud)


def print_warnings(out: Console, warnings: Iterable[str]) -> None:
    """Print warnings."""
    for words in warnings:
        _print_sentence(Sentence(words, "warning"), out, out)


def _print_section(section: Section, out: Console, loud: Console) -> None:
    if section.title:
        out.print(f"\n{section.title}", style="bold", markup=False)
    if section.facts:
        _print_facts(section.facts, out)
    for sentence in section.said:
        if sentence.brief:
            _print_sentence(sentence, out, loud)
    if section.table is not None:
        _print_table(section.table, out)
    for line in section.text.splitlines()[:MOST_LINES]:
        out.print(f"  {line}", markup=False, no_wrap=True, overflow="ellipsis")


def _print_sentence(sentence: Sentence, out: Console, loud: Console) -> None:
    words = _BEFORE.get(sentence.kind, "") + sentence.words
    if sentence.kind == "alarm":
        style = "bold white on red"
        _print_words(loud, f"WARNING: {words}", style)
    else:
        _print_words(out, words, _STYLES.get(sentence.kind))


def _print_words(out: Console, words: str, style: str | None) -> None:
    # Lines wrap at words on a terminal, and never for scripts.
    out.print(words, style=style, markup=False, soft_wrap=not out.is_terminal)


def _print_facts(facts: Sequence[Fact], out: Console) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable.grid(padding=(0, 2))
    shown.add_column(justify="right", no_wrap=True)
    shown.add_column(overflow="fold")
    for fact in facts:
        style = "bold red" if fact.high else "bold"
        shown.add_row(Text(fact.figure, style), Text(fact.caption))
    out.print(shown)


def _print_table(table: Table, out: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    columns = [column for column in table.columns if column.brief]
    rows = list(filter(table.brief, table.rows))
    if not rows:
        return
    for column in columns:
        # Names wrap before numbers, whose digits must never be cut.
        shown.add_column(
            Text(column.title),
            justify="right" if column.number else "left",
            overflow="fold",
            no_wrap=column.number,
        )
    for row in rows:
        cells = [Text(c.write(row), "bold red" if c.high(row) else "") for c in columns]
        shown.add_row(*cells, style="dim" if table.quiet(row) else None)
    out.print(shown)

"""What people see at the terminal: lines that can be copied, and where a report is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def show_lines(console: Console, lines: Iterable[str]) -> None:
    """Print sentences, each on a line that may be copied."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def show_written(console: Console, path: Path) -> None:
    """Print where a report was written, as short as it can be said."""
    inside = path.is_relative_to(Path.cwd())
    console.print("The whole report is in")
    shown = path.relative_to(Path.cwd()) if inside else path
    # One line, however narrow the terminal: a path in two pieces cannot be copied.
    console.print(str(shown), markup=False, soft_wrap=True)

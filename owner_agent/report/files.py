"""The files of a report: a private page, and its numbers as JSON in a second file."""

from __future__ import annotations

import json
from pathlib import Path

from owner_agent.state.private_files import private_directory, write_replacing
from pramana_core.errors import OptionError
from pramana_core.progress import Progress, unwatched
from pramana_core.report.page import html
from pramana_core.report.report import Report

FOLDER = "report"


def write(report: Report, owner: str, page: Path, tick: Progress = unwatched) -> None:
    """Write a report's page and accompanying files as private files. Raises OptionError."""
    numbers = json.dumps(report.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    written = {
        page: html(report, owner, tick),
        page.with_suffix(".json"): f"{numbers}\n",
        **{page.with_suffix(end): text for end, text in report.beside.items()},
    }
    for path, text in written.items():
        try:
            write_replacing(path, text.encode())
        except OSError as error:
            raise _unwritable(page, error) from None


def place(state: Path, wanted: Path | None, name: str) -> Path:
    """Return a report's path: the given .html, or in the state directory. Raises OptionError."""
    if wanted is None:
        private_directory(state)
        return private_directory(state / FOLDER) / name
    if wanted.suffix.lower() not in {".html", ".htm"} or not wanted.parent.is_dir():
        raise OptionError(
            f"The report cannot be written to {wanted}: its name does not end in .html, or its"
            " folder does not exist.",
            where="report",
            remedy="Name a file that ends in .html, in a folder that exists.",
        )
    return wanted


def _unwritable(page: Path, error: OSError) -> OptionError:
    return OptionError(
        f"The report cannot be written to {page}: {error.strerror}.",
        where="report",
        remedy="Name a folder in which you may write.",
    )

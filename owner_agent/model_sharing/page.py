"""The tree that would leave as one HTML page that loads nothing; figures and message beside it.

The page shows the tree before it was cut back, too. It is written into the owner's folder, readable
by her alone, and goes nowhere else.
"""

from __future__ import annotations

import json
from pathlib import Path

from owner_agent.model_sharing.report import Drawing, TreeReport, drawings_of
from owner_agent.report.page import share, templates, write_with_numbers
from owner_agent.state.private_files import write_replacing
from pramana_core.privacy import Amplification

PAGE = "share-model.html"


def message_file(page: Path) -> Path:
    """Return where the message that would leave is written: beside the page."""
    return page.with_suffix(".message.json")


def message_text(report: TreeReport) -> str:
    """Return the message that would leave, for reading."""
    told = report.now.made.message.model_dump(mode="json", by_alias=True)
    return json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_tree_report(report: TreeReport, owner: str, page: Path) -> tuple[Path, Path]:
    """Write the page and, beside it, its figures and the message; readable by their owner only.

    Returns:
        The paths of the page and of the JSON file, which ends in `.json` instead.

    Raises:
        OptionError: they cannot be written.
    """
    written = write_with_numbers(page, tree_html(report, owner), report.as_dict())
    write_replacing(message_file(page), message_text(report).encode())
    return written


def tree_html(report: TreeReport, owner: str) -> str:
    """Return the page."""
    environment = templates("owner_agent.model_sharing")
    environment.filters |= {"share": share}
    pictures: tuple[Drawing, ...] = drawings_of(report.now.made)
    private = report.now.made.chosen.private
    return environment.get_template("share-model.html.j2").render(
        owner=owner,
        report=report.as_dict(),
        private=private,
        gamma=None if private is None else Amplification(private.epsilon).written_gamma,
        pictures=pictures,
        losses=[(loss.column, *loss.texts, loss.refused) for loss in report.earlier],
        message=message_text(report),
    )

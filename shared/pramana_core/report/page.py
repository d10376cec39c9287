"""A report as one HTML page that loads nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pramana_core.pictures.svg import printable
from pramana_core.progress import Progress, unwatched
from pramana_core.report.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment


def html(report: Report, owner: str, tick: Progress = unwatched) -> str:
    """Return the page of a report, named after its owner; `tick` counts the pictures drawn."""
    drawn: dict[int, str] = {}
    pictured = [place for place, one in enumerate(report.sections) if one.picture is not None]
    for done, place in enumerate(pictured):
        tick(done, len(pictured))
        picture = report.sections[place].picture
        drawn[place] = "" if picture is None else picture.draw()
    tick(len(pictured), len(pictured))
    template = _templates().get_template("report.html.j2")
    return printable(template.render(report=report, owner=owner, drawn=drawn))


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("pramana_core.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

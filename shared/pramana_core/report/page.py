"""Rendering a report as one HTML page that loads nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pramana_core.pictures.svg import printable
from pramana_core.progress import Progress, unwatched
from pramana_core.report.report import Report

if TYPE_CHECKING:
    from jinja2 import Environment


def html(report: Report, owner: str, tick: Progress = unwatched) -> str:
    """Return a report as a page titled with its owner; `tick` is called before each picture."""
    pictures = [picture for section in report.sections for picture in section.pictures]
    drawn = {}
    for done, picture in enumerate(pictures):
        tick(done, len(pictures))
        drawn[id(picture)] = picture.draw()
    tick(len(pictures), len(pictures))
    template = _templates().get_template("report.html.j2")
    return printable(template.render(report=report, owner=owner, drawn=drawn, id=id))


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

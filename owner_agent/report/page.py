"""The plan's report as one HTML page that loads nothing, and the same numbers as JSON beside it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from owner_agent.costs.whole_study import Outlook, alarming, budget, cells, lines, owners
from owner_agent.report.figures import (
    posterior_picture,
    strength_picture,
    width_picture,
)
from owner_agent.report.report import LISTED_CHOICES, WIDE, PlanReport, shares_reported
from owner_agent.state.private_files import private_directory, write_replacing
from owner_agent.study_plan.adopting import told_lines
from pramana_core.errors import OptionError
from pramana_core.pictures.svg import short
from pramana_core.progress import Progress, unwatched

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "report"
"""In the state directory, where the report is written unless another place is named."""

PAGE = "plan.html"

VAST = 10**18
"""A number of combinations from here on is told by its power of ten."""

_PICTURES = {
    "posteriors": posterior_picture,
    "strengths": strength_picture,
    "widths": width_picture,
}

_JSON_ONLY = {"upward_breach", "downward_breach"}
"""Of which the page has the bounds for every prior instead."""


def default_page(state: Path, name: str = PAGE) -> Path:
    """Return where a site's report goes, making the folder, which only its owner may enter.

    Raises:
        KeyFileError: the state directory or the folder is open to others.
    """
    private_directory(state)
    return private_directory(state / FOLDER) / name


def chosen_page(target: Path, name: str = PAGE) -> Path:
    """Return the page's path for a file that ends in .html, or for an existing or new folder.

    Args:
        target: the file or folder.
        name: what the page is called in a folder.

    Raises:
        OptionError: the folder cannot be made, is a file or is named like one, or the file's folder
            is not there.
    """
    page = target if target.suffix.lower() in {".html", ".htm"} else target / name
    if page is not target and target.suffix and not target.exists():
        raise OptionError(
            f"The report's place {target} neither ends in .html nor is a folder that exists.",
            where="report",
            remedy="Name a file that ends in .html, or make the folder first.",
        )
    try:
        if page is not target:
            target.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(page, error) from error
    if not page.parent.is_dir() or page.is_dir():
        raise OptionError(
            f"The report cannot be written to {page}: its folder is not there, or it is a folder.",
            where="report",
            remedy="Name a file that ends in .html, in a folder that exists, or a folder.",
        )
    return page


def require_apart(page: Path, inputs: Iterable[Path]) -> None:
    """Refuse a page that would replace what it is made from, itself or by its JSON file.

    Raises:
        OptionError: the page or the JSON beside it is one of `inputs`, also by way of a link.
    """
    read = {path.resolve() for path in inputs}
    for written in (page, _numbers(page)):
        if written.resolve() in read:
            raise OptionError(
                f"The report would overwrite {written}, which it is made from.",
                where="report",
                remedy="Name another place with --report; numbers go to a .json beside the page.",
            )


def write_report(
    plan: PlanReport, owner: str, page: Path, tick: Progress = unwatched
) -> tuple[Path, Path]:
    """Write the page and, beside it, its numbers as JSON; both readable by their owner only.

    Returns:
        The paths of the page and of the JSON file, which ends in `.json` instead.

    Raises:
        OptionError: they cannot be written.
    """
    return write_with_numbers(page, html(plan, owner, tick), plan.as_dict())


def write_with_numbers(page: Path, text: str, numbers: Mapping[str, Any]) -> tuple[Path, Path]:
    """Write a page and, beside it, its numbers as JSON; see `write_report`."""
    beside = _numbers(page)
    content = json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_replacing(page, text.encode())
        write_replacing(beside, content.encode())
    except OSError as error:
        raise _unwritable(page, error) from error
    return page, beside


def templates(package: str) -> Environment:
    """Return the environment of a package's templates: strict, and everything escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def html(plan: PlanReport, owner: str, tick: Progress = unwatched) -> str:
    """Return the page. Every number in it is one of `PlanReport.as_dict`, written shorter."""
    environment = templates("owner_agent.report")
    environment.filters |= {
        "share": share, "figures": figures, "bits": bits, "count": count, "short": short,
    }  # fmt: skip
    pictures = {}
    for done, (name, draw) in enumerate(_PICTURES.items()):
        tick(done, len(_PICTURES))
        pictures[name] = draw(plan)
    missing = [
        (variable.name, what, reason)
        for variable in plan.variables
        for what, reason in variable.reasons.items()
        if what not in _JSON_ONLY
    ]
    template = environment.get_template("plan.html.j2")
    return template.render(
        owner=owner,
        plan=plan.as_dict(),
        together_gamma=plan.together.told.written_gamma,
        listed_choices=LISTED_CHOICES,
        wide={b.name: b.variables for b in plan.blocks if len(b.variables) > WIDE},
        shares={block.name: shares_reported(plan, block) for block in plan.blocks if block.choices},
        missing=missing,
        corrected_lines=() if plan.corrected is None else plan.corrected.lines(),
        study=_study(plan.study),
        study_plan_lines=() if plan.adopted is None else told_lines(plan.adopted),
        **pictures,
    )


def _study(told: Outlook | str | None) -> dict[str, Any] | None:
    """Return what the page says of the whole study."""
    if not isinstance(told, Outlook):
        return None
    return {
        "name": told.study,
        "people": told.forecast.after.people_said,
        "owners": owners(told),
        "alarming": alarming(told),
        "determined": _spaced(cells(told.record[1])[2]),
        "lines": [(what, [_spaced(c) for c in cells(change)]) for what, change in lines(told)],
        "budget": list(budget(told)),
        "warnings": told.forecast.after.warnings,
    }


def _spaced(text: str) -> str:
    """Write per cent as the page does."""
    return text.replace("%", " %")


def share(value: float | None) -> str:
    """Write a probability in percent with three digits; none as a dash."""
    if value is None:
        return "–"
    percent = 100 * value
    return f"{percent:.3g} %" if 0 < percent < 99.5 else f"{percent:.4g} %"


def figures(value: float | None) -> str:
    """Write a gamma, an epsilon or a condition number, whose null is infinity."""
    return "∞" if value is None else f"{value:.4g}"


def bits(value: float | None) -> str:
    """Write an entropy with three digits after the point; none as a dash."""
    return "–" if value is None else f"{value + 0.0:.3f}"


def count(value: Any) -> str:
    """Write a whole number with its thousands apart, a vast one as a power; none as a dash."""
    if value is not None and value >= VAST:
        return f"about 10^{math.log10(value):.0f}"
    return "–" if value is None else f"{value:,.0f}"


def _numbers(page: Path) -> Path:
    return page.with_suffix(".json")


def _unwritable(page: Path, error: OSError) -> OptionError:
    return OptionError(
        f"The report cannot be written to {page}: {error.strerror}.",
        where="report",
        remedy="Name a place you may write to.",
    )

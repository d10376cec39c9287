"""How reports are shown: as one HTML page that loads nothing, in a terminal, and as JSON.

A page is written into the owner's folder, readable by her alone, with its numbers as JSON beside
it, and goes nowhere else. Each report says what is particular to it: see `ReportView`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rich.console import Console
from rich.markup import escape

from owner_agent.state.private_files import private_directory, write_replacing
from pramana_core.errors import OptionError
from pramana_core.pictures.svg import short
from pramana_core.progress import Progress, unwatched

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = "report"
"""In the state directory, where reports are written unless another place is named."""

VAST = 10**18
"""A number of combinations from here on is written as a power of ten."""

ROUNDING = 1e-9
"""Numbers below this are what sums in floating point leave."""


class Report(Protocol):
    """What a release would reveal."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON."""


ReportT = TypeVar("ReportT", bound=Report)


@dataclass(frozen=True)
class ReportView(Generic[ReportT]):
    """How a kind of reports is shown.

    Attributes:
        name: what its page is called; the template has the same name.
        drawn: what the page shows besides the report's JSON, by name; told of the progress.
        printed: prints the essentials on a console; on the other, what must not be overlooked.
        beside: texts that are written beside the page, by what they end in instead of `.html`.
    """

    name: str
    drawn: Callable[[ReportT, Progress], Mapping[str, Any]]
    printed: Callable[[Console, Console, ReportT], None]
    beside: Callable[[ReportT], Mapping[str, str]] = lambda _report: {}

    def html(self, report: ReportT, owner: str, tick: Progress = unwatched) -> str:
        """Return the page: numbers of `as_dict`, written shorter, and pictures."""
        template = templates().get_template(f"{self.name}.j2")
        return template.render(owner=owner, report=report.as_dict(), **self.drawn(report, tick))

    def write(self, report: ReportT, owner: str, page: Path, tick: Progress = unwatched) -> None:
        """Write the page and, beside it, its numbers as JSON; all readable by their owner only.

        Raises OptionError.
        """
        numbers = json.dumps(report.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        written = {
            page: self.html(report, owner, tick),
            _numbers(page): f"{numbers}\n",
            **{page.with_suffix(end): text for end, text in self.beside(report).items()},
        }
        for path, text in written.items():
            try:
                write_replacing(path, text.encode())
            except OSError as error:
                raise _unwritable(page, error) from None

    def place(self, state: Path, wanted: Path | None) -> Path:
        """Return where the page goes.

        Raises OptionError, KeyFileError.
        """
        return default_page(state, self.name) if wanted is None else chosen_page(wanted, self.name)


def templates() -> Environment:
    """Return the environment of the templates: strict, and everything escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("owner_agent.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "share": share, "figures": figures, "bits": bits, "count": count, "short": short,
        "rough": rough, "measured": measured,
    }  # fmt: skip
    return made


def show_warnings(console: Console, warnings: Sequence[str]) -> None:
    """Print what reports could prove about somebody."""
    for warning in warnings:
        console.print(f"warning: {escape(warning)}", style="bold yellow")


def default_page(state: Path, name: str) -> Path:
    """Return where a site's report goes, making the folder, which only its owner may enter.

    Raises KeyFileError.
    """
    private_directory(state)
    return private_directory(state / FOLDER) / name


def chosen_page(target: Path, name: str) -> Path:
    """Return the page's path for a file that ends in .html, or for an existing or new folder.

    Raises OptionError.
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
        raise _unwritable(page, error) from None
    if not page.parent.is_dir() or page.is_dir():
        raise OptionError(
            f"The report cannot be written to {page}: its folder is not there, or it is a folder.",
            where="report",
            remedy="Name a file that ends in .html, in a folder that exists, or a folder.",
        )
    return page


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


def rough(value: float) -> str:
    """Write a share in per cent, small ones with a digit more."""
    return f"{100 * value:.{0 if value >= 0.0995 else 1}f} %"


def figure(value: float | None) -> str:
    """Write a number with four digits, one that is rounding alone as 0; none as a dash."""
    if value is None or value != value:
        return "–"
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"


def measured(value: float, error: float | None) -> str:
    """Write a measure with its standard error, if it has one: to the error's second digit."""
    if error is None or value != value or error < ROUNDING:
        return figure(value)
    digits = min(4, max(0, 1 - math.floor(math.log10(error))))
    return f"{round(value, digits) + 0.0:.{digits}f} ± {error:.{digits}f}"


def _numbers(page: Path) -> Path:
    return page.with_suffix(".json")


def _unwritable(page: Path, error: OSError) -> OptionError:
    return OptionError(
        f"The report cannot be written to {page}: {error.strerror}.",
        where="report",
        remedy="Name a place you may write to.",
    )

"""`owner-agent mask`: what masking would release, and with `--publish` its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, surroundings_of
from owner_agent.release.options import PART_RECORDS, PublishOptions
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.masking.publishing import MaskedNow, MaskOutcome
    from owner_agent.masking.report import MaskReport
    from owner_agent.site.site import Site
    from owner_agent.state.surroundings import Surroundings

STAGES = {
    "pseudonyms": "computing pseudonyms",
    "relationships": "looking at relationships",
    "masking": "masking",
    "measuring": "measuring",
    "drawing": "drawing the report",
    "parts": "uploading parts",
}


def mask(
    context: typer.Context,
    site: SiteOption = SITE,
    publish: Annotated[
        bool, typer.Option("--publish", help="Send the masked records; without it nothing leaves.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="An .html file or a folder for the report.")
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no file, print only.")
    ] = False,
    part_records: Annotated[int, typer.Option(help="Records in a part.")] = PART_RECORDS,
    accept_added_loss: Annotated[
        bool,
        typer.Option(
            "--accept-added-loss",
            help="Publish although a column left in another form; what both tell adds.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Mask the confidential columns, report on them, and publish them if asked to."""
    from owner_agent.cli.display.plan import show_written
    from owner_agent.cli.display.releases import show_mask_report, show_masked_outcome
    from owner_agent.costs.summaries import reported_json
    from owner_agent.costs.whole_study import people_told, show_people
    from owner_agent.site.site import load_site

    if report is not None and no_report:
        raise OptionError("Give --report or --no-report, not both.", where="report")
    opened = load_site(site)
    _ = opened.mask
    # Scripts that ask for JSON get it on standard output; what is published is drawn all the same.
    page = (
        None
        if no_report or (json and report is None and not publish)
        else _page(opened, report, site)
    )
    options = PublishOptions(part_records, accept_added_loss) if publish else None
    study = people_told(opened, surroundings_of(context)) if publish else None
    show_people(console(stderr=json), study)
    told, outcome = _run(opened, surroundings_of(context), options, page)
    if json:
        print_json(reported_json(told.as_dict(), outcome))
        return
    show_mask_report(console(), told)
    if page is not None:
        show_written(console(), page)
    if outcome is not None:
        show_masked_outcome(console(), outcome)


def _run(
    site: Site, surroundings: Surroundings, options: PublishOptions | None, page: Path | None
) -> tuple[MaskReport, MaskOutcome | None]:
    """Mask and report, and publish where there are options of how to."""
    from owner_agent.masking.publishing import mask_table, publish_masked

    shown: list[MaskReport] = []
    outcome = None
    with progress_bar() as bar:

        def watch(stage: str, done: int, total: int, /) -> None:
            bar.stage(STAGES[stage], done, total)

        def show(made: MaskedNow) -> None:
            shown.append(_reported(made, site, page, watch))

        if options is None:
            show(mask_table(site, watch))
        else:
            outcome = publish_masked(site, surroundings, options, watch, show)
    return shown[0], outcome


def _reported(made: MaskedNow, site: Site, page: Path | None, watch: StagedProgress) -> MaskReport:
    """Measure a masked table and write the page, where one is wanted."""
    from owner_agent.masking.page import write_mask_report
    from owner_agent.masking.report import report_of

    def drawing(done: int, total: int, /) -> None:
        watch("drawing", done, total)

    found = report_of(made, watch)
    if page is not None:
        write_mask_report(found, site.owner, page, drawing)
    return found


def _page(site: Site, report: Path | None, site_file: Path) -> Path:
    """Return where the report goes: nowhere that anything is read from."""
    from owner_agent.masking.page import PAGE
    from owner_agent.report.page import chosen_page, default_page, require_apart

    page = default_page(site.state, PAGE) if report is None else chosen_page(report, PAGE)
    require_apart(page, [site_file, site.table])
    return page

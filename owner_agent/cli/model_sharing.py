"""`owner-agent share-model`: the tree that would leave, and with `--publish` its release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, surroundings_of
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.model_sharing.publishing import SharedNow, ShareOutcome
    from owner_agent.model_sharing.report import TreeReport
    from owner_agent.site.site import Site
    from owner_agent.state.surroundings import Surroundings

STAGES = {"growing": "growing the tree", "drawing": "drawing the report"}


def share_model(
    context: typer.Context,
    site: SiteOption = SITE,
    publish: Annotated[
        bool, typer.Option("--publish", help="Send the tree; without it nothing leaves.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="An .html file or a folder for the report.")
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no file, print only.")
    ] = False,
    accept_added_loss: Annotated[
        bool,
        typer.Option(
            "--accept-added-loss",
            help="Publish although a column left in another form; what both tell adds.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Learn a tree, make it anonymous or private, show it, and publish it if asked to."""
    from owner_agent.cli.display.plan import show_written
    from owner_agent.cli.display.releases import show_share_outcome, show_tree_report
    from owner_agent.costs.summaries import reported_json
    from owner_agent.costs.whole_study import people_told, show_people
    from owner_agent.site.site import load_site

    if report is not None and no_report:
        raise OptionError("Give --report or --no-report, not both.", where="report")
    opened = load_site(site)
    _ = opened.share_model
    # Scripts that ask for JSON get it on standard output; what is published is drawn all the same.
    page = (
        None
        if no_report or (json and report is None and not publish)
        else _page(opened, report, site)
    )
    accept = accept_added_loss if publish else None
    study = people_told(opened, surroundings_of(context)) if publish else None
    show_people(console(stderr=json), study)
    told, outcome = _run(opened, surroundings_of(context), accept, page)
    if json:
        print_json(reported_json(told.as_dict(), outcome))
        return
    show_tree_report(console(), console(stderr=True), told)
    if page is not None:
        show_written(console(), page)
    if outcome is not None:
        show_share_outcome(console(), outcome)


def _run(
    site: Site, surroundings: Surroundings, accept: bool | None, page: Path | None
) -> tuple[TreeReport, ShareOutcome | None]:
    """Learn and show, and publish where it is said whether an added loss is accepted."""
    from owner_agent.model_sharing.publishing import publish_tree, shared_tree

    shown: list[TreeReport] = []
    outcome = None
    with progress_bar() as bar:

        def watch(stage: str, done: int, total: int, /) -> None:
            bar.stage(STAGES[stage], done, total)

        def show(now: SharedNow) -> None:
            shown.append(_reported(now, site, page, watch))

        if accept is None:
            show(shared_tree(site, watch))
        else:
            outcome = publish_tree(site, surroundings, watch, show, accept_added_loss=accept)
    return shown[0], outcome


def _reported(now: SharedNow, site: Site, page: Path | None, watch: StagedProgress) -> TreeReport:
    """Measure a tree and write the page, where one is wanted."""
    from owner_agent.model_sharing.page import write_tree_report
    from owner_agent.model_sharing.report import report_of

    found = report_of(now)
    if page is not None:
        watch("drawing", 0, 1)
        write_tree_report(found, site.owner, page)
        watch("drawing", 1, 1)
    return found


def _page(site: Site, report: Path | None, site_file: Path) -> Path:
    """Return where the report goes: nowhere that anything is read from."""
    from owner_agent.model_sharing.page import PAGE
    from owner_agent.report.page import chosen_page, default_page, require_apart

    page = default_page(site.state, PAGE) if report is None else chosen_page(report, PAGE)
    require_apart(page, [site_file, site.table])
    return page

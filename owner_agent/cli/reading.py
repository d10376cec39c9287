"""The commands that read the table or the ledger and send nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import (
    SITE,
    JsonOption,
    RecordsOption,
    SiteOption,
    environment_of,
    require_countable,
)
from owner_agent.report.thresholds import THRESHOLD
from owner_agent.table.methods import Method
from pramana_core.errors import OptionError, PramanaError, StoreCorrupt
from pramana_core.terminal import console, print_json, progress_bar, report_error

if TYPE_CHECKING:
    from owner_agent.report.report import PlanReport
    from owner_agent.site.planning import PlannedSite
    from owner_agent.site.site import Site
    from owner_agent.state.environment import Environment
    from owner_agent.table.encode import Inspection


def check(context: typer.Context, site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Validate the table against the site file, and ask the miner of the study; no data is sent."""
    from owner_agent.report.page import show_warnings
    from owner_agent.report.whole_study import people_told
    from owner_agent.site.planning import raise_together
    from owner_agent.site.site import load_site

    opened = load_site(site)
    told, lines, problems = _checked_plan(opened) if opened.file.variables else ({}, [], [])
    if opened.file.mask is not None:
        from owner_agent.release.masked import check_masking

        masked = check_masking(opened)
        told["masking"] = masked.as_dict()
        lines.append(masked.sentence)
        _add_new(problems, masked.problem)
    if opened.file.share_model is not None:
        from owner_agent.release.tree_table import check_sharing

        shared = check_sharing(opened)
        told["model_sharing"] = shared.as_dict()
        lines.append(shared.sentence)
        _add_new(problems, shared.problem)
    study = people_told(opened, environment_of(context))
    if isinstance(study, str):
        lines.append(f"The miner was not asked: {study}")
    elif study is not None:
        told["people"] = study.people
        lines.append(study.sentence)
        _add_new(problems, study.refused)
    if json:
        written = [
            {"code": p.code, "where": p.where, "message": p.message, "remedy": p.remedy}
            for p in problems
        ]
        print_json({"owner": opened.owner, **told, "problems": written})
    else:
        for line in lines:
            console().print(line, markup=False, soft_wrap=True)
        show_warnings(console(), told.get("warnings", []))
    if json or len(problems) < 2:
        raise_together(problems)
        return
    for problem in problems:
        report_error(problem)
    raise typer.Exit(max(problem.exit_code for problem in problems))


def _add_new(problems: list[PramanaError], found: PramanaError | None) -> None:
    """Add a problem that is not there: record ids and columns may be read more than once."""
    known = {(problem.code, problem.message) for problem in problems}
    if found is not None and (found.code, found.message) not in known:
        problems.append(found)


def _checked_plan(site: Site) -> tuple[dict[str, Any], list[str], list[PramanaError]]:
    """Return what is shown of the variables of a site, and what is wrong with the table."""
    from owner_agent.report.lookalikes import lookalikes
    from owner_agent.report.report import warnings
    from owner_agent.site.planning import awaiting_plan, planned, without_protection
    from owner_agent.table.encode import inspect

    if waiting := awaiting_plan(site):
        return _checked_table(site, planned(without_protection(site)), waiting)
    plan = planned(site)
    found = inspect(site, plan)
    told = {
        "rows": found.rows,
        "variables": len(plan.variables),
        "plan_digest": plan.plan.digest,
        "warnings": [*warnings(plan), *lookalikes(site, plan, found.encoded)],
    }
    return told, [_counted(found, plan, len(plan.sensitive))], list(found.problems)


def _checked_table(
    site: Site, plan: PlannedSite, waiting: Sequence[str]
) -> tuple[dict[str, Any], list[str], list[PramanaError]]:
    """Return the same of a site whose sensitive variables wait for the study's plan."""
    from owner_agent.table.encode import inspect

    found = inspect(site, plan)
    told = {
        "rows": found.rows,
        "variables": len(plan.variables),
        "plan_digest": None,
        "awaiting_plan": list(waiting),
        "warnings": [],
    }
    line = (
        "Nothing can leave yet: how the sensitive variables are randomized is said by the study's"
        " plan (`owner-agent join` fetches it), or by channels (`owner-agent design`)."
    )
    return told, [_counted(found, plan, len(waiting)), line], list(found.problems)


def _counted(found: Inspection, plan: PlannedSite, sensitive: int) -> str:
    return (
        f"{found.rows:,} rows, {len(plan.variables)} variables ({sensitive} sensitive),"
        f" {len(found.problems)} problems."
    )


def plan(
    context: typer.Context,
    site: SiteOption = SITE,
    records: RecordsOption = None,
    prior: Annotated[
        Path | None,
        typer.Option(help="An attacker's public beliefs: JSON, probabilities by variable."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="The posterior above which a category is plausible.")
    ] = THRESHOLD,
    report: Annotated[
        Path | None, typer.Option(help="An .html file or a folder for the report.")
    ] = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no file, print only.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Report what publishing would reveal, and how accurate the results would be."""
    from owner_agent.site.site import load_site

    require_countable(records)
    if report is not None and no_report:
        raise OptionError("Give --report or --no-report, not both.", where="report")
    opened = load_site(site)
    made = measured(opened, environment_of(context), records, prior, threshold)
    # Scripts that ask for JSON get it on standard output and no file they did not ask for.
    unasked = no_report or (json and report is None)
    page = report_page(made, opened, site, report, prior, no_report=unasked)
    if json:
        print_json(made.as_dict())
    else:
        show_report(made, opened, page)


def report_page(
    made: PlanReport,
    opened: Site,
    site: Path,
    wanted: Path | None,
    prior: Path | None = None,
    *,
    no_report: bool,
) -> Path | None:
    """Write the page of a report where it is wanted, and return where; None without a page.

    Raises:
        OptionError: there can be no page there, or it would replace something that is read.
    """
    from owner_agent.report.plan_shown import PLAN

    if no_report:
        return None
    lists = [v.categories_from for v in opened.file.variables if v.categories_from]
    read = [site, opened.table, *(opened.folder / path for path in lists)]
    page = PLAN.place(opened.state, wanted, read if prior is None else [*read, prior])
    with progress_bar("drawing the report") as tick:
        PLAN.write(made, opened.owner, page, tick)
    return page


def show_report(made: PlanReport, opened: Site, page: Path | None) -> None:
    """Print the essentials of a report, and where its page is."""
    from owner_agent.cli.releases_shown import show_lines, show_written
    from owner_agent.report.of_site import others_apart
    from owner_agent.report.plan_shown import PLAN

    PLAN.printed(console(), console(stderr=True), made)
    show_lines(console(), others_apart(opened))
    if page is not None:
        show_written(console(), page)


def measured(
    site: Site,
    environment: Environment,
    records: int | None = None,
    prior: Path | None = None,
    threshold: float = THRESHOLD,
) -> PlanReport:
    """Return what publishing would reveal, and show how far that is; see `site_report`."""
    from owner_agent.report.of_site import STAGES, site_report

    with progress_bar() as bar:
        return site_report(
            site,
            environment,
            records,
            prior,
            threshold,
            lambda stage, done, total: bar.stage(STAGES[stage], done, total),
        )


def discretize(
    column: Annotated[
        list[str], typer.Option(help="The numeric column of the table; several are grouped as one.")
    ],
    method: Annotated[Method, typer.Option(help="How to choose the cuts.")] = Method.mgas,
    minimum_count: Annotated[
        int | None, typer.Option(help="The fewest records in a group.")
    ] = None,
    granularity: Annotated[
        list[float] | None, typer.Option(help="The least width of a group; once for each column.")
    ] = None,
    groups: Annotated[int | None, typer.Option(help="The number of groups.")] = None,
    low: Annotated[float | None, typer.Option(help="The lower end of the range.")] = None,
    high: Annotated[float | None, typer.Option(help="The upper end of the range.")] = None,
    grid: Annotated[
        list[float] | None,
        typer.Option(help="The step to which values are rounded first; once for each column."),
    ] = None,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Propose cuts for a numeric column, to put into the site file; nothing is sent.

    Several columns are grouped together, as one variable.
    """
    from owner_agent.site.site import load_site
    from owner_agent.table.grouping import propose_each

    options = {"minimum_count": minimum_count, "groups": groups, "low": low, "high": high}
    made = propose_each(load_site(site), column, method, options, granularity or [], grid or [])
    if json:
        print_json(made.as_dict())
        return
    for line in made.lines():
        console().print(line, markup=False, soft_wrap=True)


def ledger(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """List everything that ever left this site, and the privacy spent."""
    from owner_agent.cli.releases_shown import show_ledger
    from owner_agent.cli.sessions_shown import (
        shared_json,
        show_lost,
        show_peer_lines,
        show_told,
        told_json,
    )
    from owner_agent.peer.exact import recalled
    from owner_agent.peer.session import all_kept
    from owner_agent.release.ledger import Ledger
    from owner_agent.report.summaries import ledger_json
    from owner_agent.site.site import load_site

    opened = load_site(site)
    entries, kept = Ledger(opened.state).entries(), all_kept(opened.state)
    # Whoever lost that file wants to know all the same what left.
    lost: StoreCorrupt | None = None
    try:
        told = recalled(opened.state)
    except StoreCorrupt as error:
        told, lost = [], error
    if json:
        shared = {"parameters_shared": shared_json(kept), **told_json(told, lost)}
        print_json({**ledger_json(entries), **shared})
        return
    show_ledger(console(), entries)
    show_peer_lines(console(), entries, kept)
    peer = opened.file.peer
    show_told(console(), told, None if peer is None else peer.groupings)
    if lost is not None:
        show_lost(console(), lost)


def anchors(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Print the states of miners' audit logs that were seen. Exit code 4 if one was rewritten.

    Compare them with what other owners have: `pramana audit verify` and `--anchor` take them.
    """
    from owner_agent.cli.releases_shown import show_anchors
    from owner_agent.release.left import all_anchors, require_unbroken, wrong_with
    from owner_agent.site.site import load_site

    seen = all_anchors(load_site(site).state)
    if json:
        told = {miner: [asdict(anchor) for anchor in known] for miner, known in seen.items()}
        wrong = {miner: wrong_with(known) for miner, known in seen.items()}
        print_json({"anchors": told, "rewritten": {k: v for k, v in wrong.items() if v}})
    else:
        show_anchors(console(), seen)
    require_unbroken(seen)

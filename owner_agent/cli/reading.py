"""The commands that read the table, the ledger or a model, and send nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from pramana_core.errors import OptionError, PramanaError, StoreCorrupt
from pramana_core.terminal import console, print_json, progress_bar, report_error

if TYPE_CHECKING:
    from rich.console import Console

    from owner_agent.site.planning import PlannedSite
    from owner_agent.site.site import Site
    from owner_agent.state.environment import Environment
    from owner_agent.table.encode import Inspection
    from owner_agent.table.predicting import InputSource, Predictions, ReadModel
    from pramana_core.report.report import Report


def check(context: typer.Context, site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Validate the table against the site file, and ask the miner of the study; no data is sent."""
    from owner_agent.report.study import people_of
    from owner_agent.site.planning import raise_together
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_warnings

    opened = load_site(site)
    answer, lines, problems = _checked_plan(opened) if opened.file.variables else ({}, [], [])
    if opened.file.mask is not None:
        from owner_agent.release.masked_table import check_masking

        masked = check_masking(opened)
        answer["masking"] = masked.facts
        lines.append(masked.sentence)
        _add_new(problems, masked.problem)
    if opened.file.share_model is not None:
        from owner_agent.release.tree_plan import check_sharing

        shared = check_sharing(opened)
        answer["model_sharing"] = shared.facts
        lines.append(shared.sentence)
        _add_new(problems, shared.problem)
    study = people_of(opened, environment_of(context))
    if isinstance(study, str):
        lines.append(f"The miner was not asked: {study}")
    elif study is not None:
        answer["people"] = study.people
        lines.append(study.sentence)
        _add_new(problems, study.refused)
    if json:
        written = [
            {"code": p.code, "where": p.where, "message": p.message, "remedy": p.remedy}
            for p in problems
        ]
        print_json({"owner": opened.owner, **answer, "problems": written})
    else:
        for line in lines:
            console().print(line, markup=False, soft_wrap=True)
        print_warnings(console(), answer.get("warnings", []))
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
    from owner_agent.report.plan import secrets_said, warnings
    from owner_agent.site.planning import awaiting_plan, planned, without_protection
    from owner_agent.table.encode import inspect

    if waiting := awaiting_plan(site):
        return _checked_table(site, planned(without_protection(site)), waiting)
    plan = planned(site)
    found = inspect(site, plan)
    answer = {
        "rows": found.rows,
        "variables": len(plan.variables),
        "plan_digest": plan.plan.digest,
        "warnings": [
            *warnings(plan),
            *secrets_said(found.encoded.one_secret),
        ],
    }
    return answer, [_counted(found, plan, len(plan.sensitive))], list(found.problems)


def _checked_table(
    site: Site, plan: PlannedSite, waiting: Sequence[str]
) -> tuple[dict[str, Any], list[str], list[PramanaError]]:
    """Return the same of a site whose sensitive variables wait for the study's plan."""
    from owner_agent.table.encode import inspect

    found = inspect(site, plan)
    answer = {
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
    return answer, [_counted(found, plan, len(waiting)), line], list(found.problems)


def _counted(found: Inspection, plan: PlannedSite, sensitive: int) -> str:
    return (
        f"{found.rows:,} rows, {len(plan.variables)} variables ({sensitive} sensitive),"
        f" {len(found.problems)} problems."
    )


def plan(
    context: typer.Context,
    site: SiteOption = SITE,
    records: RecordsOption = None,
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
    made = measured(opened, environment_of(context), records)
    # Scripts that ask for JSON get it on standard output and no file they did not ask for.
    unasked = no_report or (json and report is None)
    page = report_page(made, opened, report, no_report=unasked)
    if json:
        print_json(made.as_dict())
    else:
        show_report(made, opened, page)


def report_page(
    made: Report,
    opened: Site,
    wanted: Path | None,
    *,
    no_report: bool,
) -> Path | None:
    """Write the page of a report where it is wanted, and return where; None without a page.

    Raises OptionError.
    """
    from owner_agent.report.files import place, write
    from owner_agent.report.plan import PAGE

    if no_report:
        return None
    page = place(opened.state, wanted, PAGE)
    with progress_bar("drawing the report") as tick:
        write(made, opened.owner, page, tick)
    return page


def show_report(made: Report, opened: Site, page: Path | None) -> None:
    """Print the essentials of a report, and where its page is."""
    from owner_agent.cli.releases_shown import show_lines, show_written
    from owner_agent.report.plan import others_apart
    from pramana_core.report.terminal import print_report

    print_report(made, console(), console(stderr=True))
    show_lines(console(), others_apart(opened))
    if page is not None:
        show_written(console(), page)


def measured(
    site: Site,
    environment: Environment,
    records: int | None = None,
) -> Report:
    """Return what publishing would reveal, and show how far that is; see `site_report`."""
    from owner_agent.report.plan import STAGES, site_report

    with progress_bar() as bar:
        return site_report(
            site,
            environment,
            records,
            lambda stage, done, total: bar.stage(STAGES[stage], done, total),
        )


def discretize(
    column: Annotated[str, typer.Option(help="The numeric column of the table.")],
    minimum_count: Annotated[int, typer.Option(help="The fewest records in a group.")],
    granularity: Annotated[float, typer.Option(help="The least width of a group.")],
    grid: Annotated[
        float | None, typer.Option(help="The step to which values are rounded first.")
    ] = None,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Propose cuts for a numeric column, to put into the site file; nothing is sent."""
    from owner_agent.site.site import load_site
    from owner_agent.table.discretizing import propose

    made = propose(load_site(site), column, minimum_count, granularity, grid)
    if json:
        print_json(made.as_dict())
        return
    for line in made.lines():
        console().print(line, markup=False, soft_wrap=True)


def ledger(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """List everything that ever left this site, and the privacy spent."""
    from owner_agent.cli.sessions_shown import (
        shared_json,
        show_lost,
        show_peer_lines,
        show_told,
        told_json,
    )
    from owner_agent.peer.exact import disclosures as all_disclosures
    from owner_agent.peer.session import all_kept
    from owner_agent.release.ledger import Ledger
    from owner_agent.report.releases import LedgerSummary, ledger_json
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_sections

    opened = load_site(site)
    entries, kept = Ledger(opened.state).entries(), all_kept(opened.state)
    # Whoever lost that file wants to know all the same what left.
    lost: StoreCorrupt | None = None
    try:
        disclosures = all_disclosures(opened.state)
    except StoreCorrupt as error:
        disclosures, lost = [], error
    if json:
        shared = {"parameters_shared": shared_json(kept), **told_json(disclosures, lost)}
        print_json({**ledger_json(entries), **shared})
        return
    if entries:
        print_sections(LedgerSummary.of(entries).sections(), console(), console(stderr=True))
    else:
        console().print("Nothing has left this site.")
    show_peer_lines(console(), entries, kept)
    peer = opened.file.peer
    show_told(console(), disclosures, None if peer is None else peer.groupings)
    if lost is not None:
        show_lost(console(), lost)


PREDICTIONS = "predictions"
"""The folder of predictions in a site's state directory."""


def predict(
    model: Annotated[Path, typer.Argument(help="The model: a JSON file.")],
    table: Annotated[
        Path | None, typer.Argument(help="The records; by default the site file's table.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option(help="The site file, if it says how the table is read.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="The column of record ids, instead of the site file's.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new file for the predictions.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write those of all classes too.")
    ] = False,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Refuse a table without a column that it uses.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Predict a class for your own records; nothing is sent."""
    from owner_agent.site.site import load_site
    from owner_agent.table.predicting import read_model

    opened = None if site is None else load_site(site)
    source = _source(opened, table, record_id)
    wanted = PredictionOptions(model.stem, out, probabilities, all_columns, json)
    predict_by(read_model(model), source, wanted, opened)


@dataclass(frozen=True)
class PredictionOptions:
    """What is asked of a prediction: by a model of which name, where to, and what of it."""

    name: str
    out: Path | None
    probabilities: bool
    all_columns: bool
    json: bool


def predict_by(
    model: ReadModel, source: InputSource, wanted: PredictionOptions, site: Site | None = None
) -> None:
    """Predict the class of records, write it, and say how many have which.

    Raises OptionError, TableError, UnknownCategory.
    """
    from owner_agent.table.predicting import predict as predict_classes

    if wanted.out is not None and wanted.out.exists():
        raise _exists(wanted.out)
    with progress_bar("predicting") as tick:
        found = predict_classes(
            model,
            source,
            tick,
            probabilities=wanted.probabilities,
            all_columns=wanted.all_columns,
        )
    written = _write(found, site, source, wanted)
    summary = _summary(model, found, written)
    print_json(summary) if wanted.json else _show(console(), summary, found.hint)


def _source(site: Site | None, table: Path | None, record_id: str | None) -> InputSource:
    from owner_agent.table.predicting import InputSource

    if site is not None:
        return InputSource.of_site(site, table, record_id)
    if table is None:
        raise OptionError(
            "No records are named.",
            where="table",
            remedy="Name a table after the model, or a site file with --site.",
        )
    return InputSource(table, record_id)


def _write(
    found: Predictions, site: Site | None, source: InputSource, wanted: PredictionOptions
) -> Path:
    """Write the predictions for this owner alone; return where.

    Without `out` that is in the site's state directory or else beside the table, in the place of
    earlier predictions by a model of this name.
    """
    from owner_agent.state.private_files import private_directory, write_new, write_replacing

    content, out = found.csv(), wanted.out
    try:
        if out is not None:
            write_new(out, content)
            return out
        if site is not None:
            place = private_directory(site.state / PREDICTIONS) / f"{wanted.name}.csv"
        else:
            place = source.table.with_name(f"{source.table.name}.{wanted.name}.{PREDICTIONS}.csv")
        write_replacing(place, content)
    except FileExistsError:
        raise _exists(out or source.table) from None
    except OSError as error:
        raise OptionError(
            f"The predictions cannot be written: {error.strerror}.",
            where="out",
            remedy="Name another place with --out.",
        ) from None
    return place


def _exists(out: Path) -> OptionError:
    return OptionError(
        f"{out} exists; it was not changed.", where="out", remedy="Name a new file with --out."
    )


def _summary(model: ReadModel, found: Predictions, written: Path) -> dict[str, Any]:
    return {
        "kind": model.kind,
        "target": found.target.name,
        "records": len(found.codes),
        "predicted": found.counts,
        "lacking": list(found.lacking),
        "file": str(written),
    }


def _show(console: Console, summary: dict[str, Any], hint: str) -> None:
    shares = ", ".join(f"{label}: {count:,}" for label, count in summary["predicted"].items())
    console.print(
        f"{summary['target']!r} of {summary['records']:,} records by the"
        f" {summary['kind']}: {shares}.",
        markup=False,
    )
    if summary["lacking"]:
        console.print(
            f"The table has no column {', '.join(map(repr, summary['lacking']))}{hint}, which the"
            " model uses: what is missing was summed out; --all-columns refuses such a table.",
            style="yellow",
            markup=False,
        )
    console.print(f"The predictions are in {summary['file']}.", markup=False, soft_wrap=True)

"""The commands that read the table, the ledger or a model, and send nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import (
    SITE,
    JsonOption,
    SiteOption,
    environment_of,
)
from pramana_core.errors import OptionError, PramanaError, StoreCorrupt
from pramana_core.terminal import console, print_json, progress_bar, report_error

if TYPE_CHECKING:
    from owner_agent.release.masked import MaskTable
    from owner_agent.release.tree import TreeColumns
    from owner_agent.site.planning import PlannedSite
    from owner_agent.site.site import Site
    from owner_agent.table.encode import Inspection
    from owner_agent.table.predicting import RecordSource
    from pramana_core.learn.prediction import Predictor


def check(context: typer.Context, site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Validate the table against the site file, and ask the miner of the study; no data is sent."""
    from owner_agent.report.study import people_of
    from owner_agent.site.planning import raise_together
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_warnings

    opened = load_site(site)
    answer, lines, problems = _checked_plan(opened) if opened.file.variables else ({}, [], [])
    for name, facts, line, problem in _checked_sections(opened):
        answer[name] = facts
        lines.append(line)
        _add_new(problems, problem)
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


def _checked_sections(
    site: Site,
) -> Iterator[tuple[str, dict[str, int], str, PramanaError | None]]:
    """Yield what is found in the table of the columns to be masked, and of those of a tree."""
    if site.file.mask is not None:
        from owner_agent.release.masked import read_columns

        yield _checked("masking", "mask", partial(read_columns, site))
    if site.file.share_model is not None:
        from owner_agent.release.tree import read_tree_columns

        yield _checked("model_sharing", "share-model", partial(read_tree_columns, site))


def _checked(
    name: str, command: str, read: Callable[[], MaskTable | TreeColumns]
) -> tuple[str, dict[str, int], str, PramanaError | None]:
    try:
        found = read()
    except PramanaError as error:
        return name, {"records": 0, "dropped": 0}, f"`owner-agent {command}` would fail.", error
    facts = {"records": len(found.record_ids), "dropped": found.dropped}
    left_out = f" ({found.dropped:,} with empty cells left out)" if found.dropped else ""
    line = f"{facts['records']:,} records{left_out} can be released by `owner-agent {command}`."
    return name, facts, line, None


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
    for sentence in made.sentences():
        console().print(sentence, markup=False, highlight=False)
    console().print("\n".join(["", *made.toml]), markup=False, soft_wrap=True)


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
    from owner_agent.peer.session_results import all_kept
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
"""What the name of a file of predictions ends in, before `.csv`."""


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
    json: JsonOption = False,
) -> None:
    """Predict a class for your own records; nothing is sent."""
    from owner_agent.site.site import load_site
    from owner_agent.table.predicting import RecordSource, read_model

    if site is not None:
        source = RecordSource.of_site(load_site(site), table, record_id)
    elif table is not None:
        source = RecordSource(table, record_id)
    else:
        raise OptionError(
            "No table of records is named.",
            where="table",
            remedy="Name a table after the model, or a site file with --site.",
        )
    predict_by(read_model(model), model.stem, source, out, json=json)


def predict_by(
    model: Predictor, name: str, source: RecordSource, out: Path | None, *, json: bool
) -> None:
    """Predict the class of records, write it for this owner alone, and print the counts.

    Without `out` the file is beside the table, and replaces earlier predictions by a model of this
    name. Raises OptionError, TableError, UnknownCategory.
    """
    from owner_agent.state.private_files import require_absent, save, write_replacing
    from owner_agent.table.predicting import predict as predict_classes

    if out is not None:
        require_absent(out, "out")
    with progress_bar("predicting") as tick:
        found = predict_classes(model, source, tick)
    place = out or source.table.with_name(f"{source.table.name}.{name}.{PREDICTIONS}.csv")
    if out is None:
        write_replacing(place, found.csv())
    else:
        save(place, found.csv(), "out")
    if json:
        print_json(
            {
                "target": found.target.name,
                "records": len(found.codes),
                "predicted": found.counts,
                "lacking": list(found.lacking),
                "file": str(place),
            }
        )
        return
    shares = ", ".join(f"{label}: {count:,}" for label, count in found.counts.items())
    console().print(
        f"{found.target.name!r} of {len(found.codes):,} records: {shares}.", markup=False
    )
    if found.lacking:
        console().print(
            f"The table has no column {', '.join(map(repr, found.lacking))}{found.hint}, which the"
            " model uses; the prediction averages over its values.",
            style="yellow",
            markup=False,
        )
    console().print(f"The predictions are in {place}.", markup=False, soft_wrap=True)

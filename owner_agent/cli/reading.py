"""Commands that read the table, the ledger or a model, and send no data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, environment_of
from pramana_core.errors import OptionError, PramanaError
from pramana_core.terminal import console, print_json, progress_bar, report_error

if TYPE_CHECKING:
    from owner_agent.release.masked import MaskTable
    from owner_agent.release.tree import TreeColumns
    from owner_agent.site.site import Site
    from owner_agent.table.predicting import RecordSource
    from pramana_core.learn.prediction import Predictor


@dataclass
class Check:
    """The results of `check`: facts for scripts, sentences for people, and problems."""

    facts: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    problems: list[PramanaError] = field(default_factory=list)

    def add(self, *problems: PramanaError) -> None:
        """Add problems to the list, without those that are already in it."""
        for found in problems:
            if (found.code, found.message) not in {(p.code, p.message) for p in self.problems}:
                self.problems.append(found)

    def read_variables(self, site: Site) -> None:
        """Read the variables from the table, even if the study's plan is still unknown."""
        from owner_agent.report.plan import equal_column_lines, warnings
        from owner_agent.site.planning import awaiting_plan, planned, without_protection
        from owner_agent.table.encode import inspect

        waiting = awaiting_plan(site)
        plan = planned(without_protection(site) if waiting else site)
        found = inspect(site, plan)
        self.facts = {"rows": found.rows, "variables": len(plan.variables)}
        sensitive = len(waiting) or len(plan.sensitive)
        self.lines.append(
            f"{found.rows:,} rows, {len(plan.variables)} variables ({sensitive} sensitive),"
            f" {len(found.problems)} problems."
        )
        if waiting:
            self.facts |= {"plan_digest": None, "awaiting_plan": list(waiting), "warnings": []}
            self.lines.append(
                "Nothing can be sent yet: the sensitive variables have neither a study plan"
                " (`owner-agent join` fetches it) nor channels (`owner-agent design`)."
            )
        else:
            sentences = [*warnings(plan), *equal_column_lines(found.encoded.one_secret)]
            self.facts |= {"plan_digest": plan.plan.digest, "warnings": sentences}
        self.add(*found.problems)

    def read_columns(
        self, name: str, command: str, read: Callable[[], MaskTable | TreeColumns]
    ) -> None:
        """Read the columns that a command would release, and note their problems."""
        try:
            found = read()
        except PramanaError as error:
            self.facts[name] = {"records": 0, "dropped": 0}
            self.lines.append(f"`owner-agent {command}` would fail.")
            self.add(error)
            return
        records, dropped = len(found.record_ids), found.dropped
        self.facts[name] = {"records": records, "dropped": dropped}
        left_out = f" ({dropped:,} with empty cells omitted)" if dropped else ""
        self.lines.append(f"{records:,} records{left_out} are ready for `owner-agent {command}`.")


def check(context: typer.Context, site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Check the table against the site file, and ask the miner about the study. No data is sent."""
    from owner_agent.report.study import people_of
    from owner_agent.site.planning import raise_together
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_warnings

    opened, found = load_site(site), Check()
    if opened.file.variables:
        found.read_variables(opened)
    if opened.file.mask is not None:
        from owner_agent.release.masked import read_columns

        found.read_columns("masking", "mask", partial(read_columns, opened))
    if opened.file.share_model is not None:
        from owner_agent.release.tree import read_tree_columns

        found.read_columns("model_sharing", "share-model", partial(read_tree_columns, opened))
    study = people_of(opened, environment_of(context))
    if isinstance(study, str):
        found.lines.append(f"The miner was not queried: {study}")
    elif study is not None:
        found.facts["people"] = study.people
        found.lines.append(study.sentence)
        if study.refused is not None:
            found.add(study.refused)
    problems = found.problems
    if json:
        written = [
            {"code": p.code, "where": p.where, "message": p.message, "remedy": p.remedy}
            for p in problems
        ]
        print_json({"owner": opened.owner, **found.facts, "problems": written})
    else:
        for line in found.lines:
            console().print(line, markup=False, soft_wrap=True)
        print_warnings(console(), found.facts.get("warnings", []))
    if json or len(problems) < 2:
        raise_together(problems)
        return
    for problem in problems:
        report_error(problem)
    raise typer.Exit(max(problem.exit_code for problem in problems))


def doctor(context: typer.Context, site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Examine keys, state, disk, plan, table, clock and miner. No data is sent.

    The command reads the whole table. Its exit code is the largest code of a fault.
    """
    from owner_agent.doctor import CHECKS, ExaminedSite
    from owner_agent.site.site import load_site
    from pramana_core.doctor import examine, show_findings

    examined = ExaminedSite(load_site(site), environment_of(context))
    raise typer.Exit(show_findings(examine(examined, CHECKS), as_json=json))


def ledger(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """List all releases of this site, and the privacy loss of each column."""
    from owner_agent.cli.sessions_shown import peer_sections, shared_json
    from owner_agent.peer.exact import shared_tables
    from owner_agent.peer.exchange.session_record import session_records
    from owner_agent.release.ledger import Ledger
    from owner_agent.report.releases import LedgerSummary, ledger_json
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_sections

    opened = load_site(site)
    entries = Ledger(opened.state).entries()
    sessions, tables = session_records(entries), shared_tables(entries)
    if json:
        print_json({**ledger_json(entries), **shared_json(sessions, tables)})
        return
    if not entries:
        console().print("This site has released nothing.")
    groupings = None if opened.file.peer is None else opened.file.peer.groupings
    sections = LedgerSummary.of(entries).sections() if entries else []
    sections += peer_sections(entries, sessions, tables, groupings)
    print_sections(sections, console(), console(stderr=True))


def predict(
    model: Annotated[Path, typer.Argument(help="The model: a JSON file.")],
    table: Annotated[
        Path | None, typer.Argument(help="The records; by default the site file's table.")
    ] = None,
    site: Annotated[
        Path | None, typer.Option(help="A site file that describes how to read the table.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="The column of record ids, instead of the site file's.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new file for the predictions.")] = None,
    json: JsonOption = False,
) -> None:
    """Predict a class for your own records. Nothing is sent."""
    from owner_agent.site.site import load_site
    from owner_agent.table.predicting import RecordSource, read_model
    from owner_agent.table.table import detect

    if site is not None:
        source = RecordSource.of_site(load_site(site), table, record_id)
    elif table is not None:
        source = RecordSource(detect(table), record_id)
    else:
        raise OptionError(
            "The command names neither a table of records nor a site file.",
            where="table",
            remedy="Name a table after the model, or a site file with --site.",
        )
    predict_by(read_model(model), model.stem, source, out, json=json)


def predict_by(
    model: Predictor, name: str, source: RecordSource, out: Path | None, *, json: bool
) -> None:
    """Predict the class of records, write the classes to a private file, and print the counts.

    Without `out`, the file is in the folder of the table and replaces earlier predictions by this
    model. Its name has `all` for the `*` of a pattern.
    """
    from owner_agent.state.private_files import require_absent, save, write_replacing
    from owner_agent.table.predicting import predict as predict_classes

    if out is not None:
        require_absent(out, "out")
    with progress_bar("predicting") as tick:
        found = predict_classes(model, source, tick)
    beside = source.table.path
    table = beside.name.replace("*", "all")
    place = out or beside.with_name(f"{table}.{name}.predictions.csv")
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
            f"The table has no column {', '.join(map(repr, found.lacking))}{found.hint}, which "
            "the model uses. The predictions average over the missing values.",
            style="yellow",
            markup=False,
        )
    console().print(f"The predictions are in {place}.", markup=False, soft_wrap=True)

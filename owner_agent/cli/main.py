"""The `owner-agent` command: what a custodian can do, each thing in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from owner_agent.cli.display import (
    inconsistency,
    patient_progress,
    progress,
    show_ledger,
    show_outcome,
    show_plan,
    show_warnings,
    show_written,
)
from owner_agent.cli.peer import add_identity_command, add_peer_commands
from owner_agent.cli.predict import add_predict_command
from owner_agent.costs.corrected import corrected_of
from owner_agent.costs.lookalikes import lookalikes
from owner_agent.costs.losses import losses_of
from owner_agent.costs.measures import THRESHOLD
from owner_agent.costs.study_display import show_study_briefly
from owner_agent.costs.summaries import ledger_json, outcome_json, study_json
from owner_agent.costs.whole_study import Outlook, outlook_of
from owner_agent.departures.ledger import Ledger
from owner_agent.release.joining import join as join_study
from owner_agent.release.publish import PART_RECORDS, Options
from owner_agent.release.publish import publish as publish_table
from owner_agent.release.publish import withdraw as withdraw_release
from owner_agent.report.contents import Assumptions
from owner_agent.report.page import chosen_page, default_page, require_apart, write_report
from owner_agent.report.priors import read_priors
from owner_agent.report.report import report, warnings
from owner_agent.site.corrections import HELP, Choice
from owner_agent.site.planning import planned, raise_together
from owner_agent.site.site import Site, load_site
from owner_agent.state.keys import KeyStore, read_key
from owner_agent.state.surroundings import Surroundings
from owner_agent.table.discretizing import Method, propose
from owner_agent.table.encode import inspect
from owner_agent.table.table import read_table
from shared.errors import OptionError, StoreCorrupt
from shared.terminal import console, print_json, report_error, run
from shared.wire.base import MAX_RECORDS


class Learning(StrEnum):
    """What the analyst will learn."""

    counts = "counts"
    pairs = "pairs"
    itemsets = "itemsets"
    structure = "structure"


class KeyChoice(StrEnum):
    """Which of the two secrets."""

    draw = "draw"
    linkage = "linkage"


SiteOption = Annotated[Path, typer.Option("--site", help="The site file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")]
SITE = Path("site.toml")


def main() -> None:
    """Run the command."""
    run(build(Surroundings()))


def build(surroundings: Surroundings) -> typer.Typer:
    """Return the command-line application in some surroundings."""
    # A traceback with local variables would print cells of the table.
    app = typer.Typer(
        name="owner-agent",
        help="Randomize your records, publish them, and know everything that ever left.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    _add_reading(app, surroundings)
    _add_sending(app, surroundings)
    _add_serving(app, surroundings)
    add_peer_commands(app, surroundings)
    add_predict_command(app)
    app.add_typer(_keys(surroundings), name="keys")
    return app


def _add_reading(app: typer.Typer, surroundings: Surroundings) -> None:
    @app.command()
    def check(site: SiteOption = SITE, json: JsonOption = False) -> None:
        """Validate the table against the site file; nothing is sent."""
        _check(load_site(site), json)

    @app.command()
    def plan(
        site: SiteOption = SITE,
        records: Annotated[
            int | None, typer.Option(help="The number of records, instead of the table's.")
        ] = None,
        prior: Annotated[
            Path | None,
            typer.Option(help="JSON {variable: [probabilities]}: public beliefs of an attacker."),
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
        _require_countable(records)
        page = _page(report, no_report, json, [site] if prior is None else [site, prior])
        _plan((load_site(site), surroundings), records, (prior, threshold), page, json)

    @app.command()
    def discretize(
        column: Annotated[str, typer.Option(help="The numeric column of the table.")],
        method: Annotated[Method, typer.Option(help="How to choose the cuts.")] = Method.mgas,
        minimum_count: Annotated[
            int | None, typer.Option(help="The fewest records in a group.")
        ] = None,
        granularity: Annotated[
            float | None, typer.Option(help="The least width of a group.")
        ] = None,
        groups: Annotated[int | None, typer.Option(help="The number of groups.")] = None,
        low: Annotated[float | None, typer.Option(help="The lower end of the range.")] = None,
        high: Annotated[float | None, typer.Option(help="The upper end of the range.")] = None,
        grid: Annotated[
            float | None, typer.Option(help="The step to which values are rounded first.")
        ] = None,
        site: SiteOption = SITE,
        json: JsonOption = False,
    ) -> None:
        """Propose cuts for a numeric column, to put into the site file; nothing is sent."""
        options = {
            "minimum_count": minimum_count, "granularity": granularity, "groups": groups,
            "low": low, "high": high, "grid": grid,
        }  # fmt: skip
        made = propose(load_site(site), column, method, options)
        if json:
            print_json(made.as_dict())
            return
        for line in made.lines():
            console().print(line, markup=False, soft_wrap=True)

    @app.command()
    def design(
        spec: Annotated[
            Path | None, typer.Option(help="A design file; without one, the site file's variables.")
        ] = None,
        site: SiteOption = SITE,
        gamma: Annotated[
            float | None, typer.Option(help="The largest gamma about a whole record.")
        ] = None,
        epsilon: Annotated[float | None, typer.Option(help="The largest epsilon instead.")] = None,
        breach: Annotated[
            tuple[float, float] | None,
            typer.Option(help="Instead: no belief of the first may grow to the second."),
        ] = None,
        learn: Annotated[Learning | None, typer.Option(help="What will be learned.")] = None,
        length: Annotated[int | None, typer.Option(help="The longest itemset.")] = None,
        minimum_support: Annotated[
            float | None, typer.Option(help="Cells of a smaller expected share do not count.")
        ] = None,
        interactions: Annotated[
            int | None, typer.Option(help="The most variables that interact.")
        ] = None,
        records: Annotated[
            int | None, typer.Option(help="The number of records, instead of the table's.")
        ] = None,
        left_in_study: Annotated[
            bool,
            typer.Option(
                "--left-in-study",
                help="Stay within what the study's budget leaves (asks the miner).",
            ),
        ] = False,
        target: Annotated[
            float | None, typer.Option(help="The relative standard error to reach, such as 0.05.")
        ] = None,
        family: Annotated[
            str | None, typer.Option(help="Choose this one instead of the best.")
        ] = None,
        write: Annotated[
            Path | None, typer.Option(help="A new file for the variables and blocks chosen.")
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """Compare all ways to randomize by their predicted errors; nothing is read but a count."""
        # The designer is large and the other commands do not need it.
        from owner_agent.cli.design import run_design
        from owner_agent.design.designing import Wishes

        _require_countable(records)
        kind = None if learn is None else learn.value
        wishes = Wishes(
            gamma, epsilon, breach, kind, length, minimum_support, interactions, records
        )
        study = surroundings if left_in_study else None
        run_design((spec, site), wishes, study, (target, family), write, json)

    @app.command()
    def ledger(site: SiteOption = SITE, json: JsonOption = False) -> None:
        """List everything that ever left this site, and the privacy spent."""
        from owner_agent.cli.peer_display import (
            shared_json,
            show_lost,
            show_peer_lines,
            show_told,
            told_json,
        )
        from owner_agent.peer.disclosure.exact import recalled
        from owner_agent.peer.session.journal import all_kept

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


def _add_sending(app: typer.Typer, surroundings: Surroundings) -> None:
    @app.command()
    def join(
        secret: Annotated[str | None, typer.Argument(help="The invitation's secret.")] = None,
        secret_file: Annotated[
            Path | None, typer.Option(help="A file that holds it; - is standard input.")
        ] = None,
        site: SiteOption = SITE,
    ) -> None:
        """Accept an invitation to the study."""
        issued = join_study(load_site(site), _secret(secret, secret_file), surroundings)
        console().print(f"Joined study {issued.study} as {issued.name}.", markup=False)

    @app.command()
    def publish(
        site: SiteOption = SITE,
        part_records: Annotated[int, typer.Option(help="Records in a part.")] = PART_RECORDS,
        accept_added_loss: Annotated[
            bool,
            typer.Option(
                "--accept-added-loss",
                help="Publish although a column left under other draws; its epsilons add.",
            ),
        ] = False,
        corrections: Annotated[Choice | None, typer.Option(help=HELP)] = None,
        json: JsonOption = False,
    ) -> None:
        """Randomize the table and publish it, or continue where that was interrupted."""
        options = Options(part_records, accept_added_loss, corrections)
        opened = load_site(site)
        plan = planned(opened)
        show_warnings(console(stderr=True), warnings(plan))
        fresh = (corrections or opened.file.corrections) == "fresh"
        found = corrected_of(opened, plan, lambda _done, _total: None) if fresh else None
        renewed = found.renewed(corrections) if found is not None else ()
        told = outlook_of(opened, plan, surroundings, renewed)
        if not json:
            show_study_briefly(console(), told)
        if isinstance(told, Outlook):
            told.require_accepted()
        with progress(console(stderr=True)) as watch:
            outcome = publish_table(opened, surroundings, options, watch)
        if json:
            print_json({**outcome_json(outcome), **study_json(told)})
        else:
            show_outcome(console(), outcome)
        show_warnings(console(stderr=True), inconsistency(outcome))

    @app.command()
    def withdraw(
        release: Annotated[str, typer.Argument(help="The release's name, as in the ledger.")],
        site: SiteOption = SITE,
    ) -> None:
        """Ask the miner to use a release no more; the ledger keeps it."""
        withdraw_release(load_site(site), release, surroundings)
        console().print(f"Release {release} is withdrawn.", markup=False)


def _add_serving(app: typer.Typer, surroundings: Surroundings) -> None:
    @app.command()
    def serve(
        site: SiteOption = SITE,
        host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8100,
        ready_file: Annotated[
            Path | None, typer.Option(help="A file for url and pid once it accepts requests.")
        ] = None,
        allow_remote: Annotated[
            bool,
            typer.Option("--allow-remote", help="Also listen on addresses other than loopback."),
        ] = False,
    ) -> None:
        """Run the local agent, which publishes when told to over HTTP."""
        from owner_agent.http.serving import Listen, serve_agent

        listen = Listen(host, port, allow_remote=allow_remote, ready_file=ready_file)
        serve_agent(site, surroundings, listen)


def _keys(surroundings: Surroundings) -> typer.Typer:
    app = typer.Typer(help="Make, import, export and identify this site's secrets.")

    @app.command()
    def create(
        linkage: Annotated[
            bool, typer.Option("--linkage", help="Make the linkage secret, as the first owner.")
        ] = False,
        site: SiteOption = SITE,
    ) -> None:
        """Make the draw key, which never leaves this site (or the shared linkage secret)."""
        store = KeyStore(load_site(site).state)
        name = KeyChoice.linkage if linkage else KeyChoice.draw
        store.create(name.value, surroundings.random_bytes)
        console().print(f"Made {store.path(name.value)}.", markup=False, soft_wrap=True)

    @app.command(name="import")
    def import_key(
        name: Annotated[KeyChoice, typer.Argument(help="Which secret.")],
        file: Annotated[Path, typer.Argument(help="A file of 64 hexadecimal digits or base64.")],
        site: SiteOption = SITE,
    ) -> None:
        """Take a secret over from a file that only you may read."""
        store = KeyStore(load_site(site).state)
        store.add(name.value, read_key(file))
        console().print(f"Stored {store.path(name.value)}.", markup=False, soft_wrap=True)

    @app.command()
    def export(
        name: Annotated[KeyChoice, typer.Argument(help="Only `linkage` may leave.")],
        file: Annotated[Path, typer.Argument(help="The new file.")],
        site: SiteOption = SITE,
    ) -> None:
        """Write the linkage secret to a file, to be handed to another owner of the study."""
        if name is not KeyChoice.linkage:
            raise OptionError(
                "The draw key never leaves this site.",
                where="name",
                remedy="Copy the state directory if you move the agent to another machine.",
            )
        KeyStore(load_site(site).state).export_linkage(file)
        console().print(f"Wrote {file}.", markup=False, soft_wrap=True)

    @app.command()
    def show(site: SiteOption = SITE, json: JsonOption = False) -> None:
        """Print the secrets' fingerprints, which identify them and reveal nothing."""
        prints = KeyStore(load_site(site).state).fingerprints()
        if json:
            print_json(prints)
            return
        for name, value in prints.items():
            console().print(f"{name:8} {value or 'absent'}", markup=False)

    add_identity_command(app, surroundings)
    return app


Page = Callable[[Site], Path | None]
"""Where a site's report goes, or nowhere."""


def _require_countable(records: int | None) -> None:
    if records is not None and records > MAX_RECORDS:
        raise OptionError(
            f"A release has at most {MAX_RECORDS} records.",
            where="records",
            remedy="Give --records a smaller number.",
        )


def _page(report: Path | None, no_report: bool, json: bool, read: list[Path]) -> Page:
    if report is not None and no_report:
        raise OptionError("Give --report or --no-report, not both.", where="report")
    # Scripts that ask for JSON get it on standard output and no file they did not ask for.
    if report is None and (no_report or json):
        return lambda _: None

    def place(site: Site) -> Path:
        page = default_page(site.state) if report is None else chosen_page(report)
        lists = [site.folder / v.categories_from for v in site.file.variables if v.categories_from]
        require_apart(page, [*read, site.table, *lists])
        return page

    return place


def _plan(
    at: tuple[Site, Surroundings],
    records: int | None,
    beliefs: tuple[Path | None, float],
    page: Page,
    json: bool,
) -> None:
    site, surroundings = at
    prior, threshold = beliefs
    planned_site = planned(site)
    priors = read_priors(prior, planned_site) if prior is not None else {}
    corrected = None
    if records is None:
        with patient_progress(console(stderr=True), "looking for corrected records") as tick:
            corrected = corrected_of(site, planned_site, tick)
    renewed = corrected.renewed(None) if corrected is not None else ()
    with patient_progress(console(stderr=True), "measuring the plan") as tick:
        made = report(
            planned_site,
            records if records is not None else _rows(site),
            Assumptions(priors, threshold),
            losses_of(site, planned_site, renewed),
            corrected,
            outlook_of(site, planned_site, surroundings, renewed),
            tick,
        )
        target = page(site)
        if target is not None:
            write_report(made, site.owner, target, tick)
    if json:
        print_json(made.as_dict())
        return
    show_plan(console(), made)
    if target is not None:
        show_written(console(), target)


def _check(site: Site, json: bool) -> None:
    plan = planned(site)
    found = inspect(site, plan)
    told = [*warnings(plan), *lookalikes(site, plan, found.encoded)]
    summary = {
        "owner": site.owner,
        "rows": found.rows,
        "variables": len(plan.variables),
        "plan_digest": plan.plan.digest,
        "warnings": told,
        "problems": [
            {"code": p.code, "where": p.where, "message": p.message, "remedy": p.remedy}
            for p in found.problems
        ],
    }
    if json:
        print_json(summary)
    else:
        sensitive = len(plan.sensitive)
        console().print(
            f"{found.rows:,} rows, {len(plan.variables)} variables ({sensitive} sensitive),"
            f" {len(found.problems)} problems.",
            markup=False,
        )
        show_warnings(console(), told)
    if found.problems:
        if len(found.problems) == 1 or json:
            raise_together(list(found.problems))
        for problem in found.problems:
            report_error(problem)
        raise typer.Exit(max(problem.exit_code for problem in found.problems))


def _rows(site: Site) -> int:
    return read_table(site.table, [site.file.record_id]).rows


def _secret(secret: str | None, file: Path | None) -> str:
    if (secret is None) == (file is None):
        raise OptionError(
            "Give the invitation's secret, or a file that holds it, and not both.",
            where="secret",
            remedy="A file keeps it out of the list of processes: --secret-file F.",
        )
    if file is None:
        return str(secret)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(
            f"The file {file} cannot be read as text.", where="secret-file"
        ) from error
    return text.strip()

"""The commands of releases: `plan`, `publish`, `mask`, `share-model`, `withdraw`, `new-epoch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import (
    SITE,
    CorrectionsOption,
    JsonOption,
    RecordsOption,
    SiteOption,
    environment_of,
    require_countable,
)
from owner_agent.release.options import PART_RECORDS, STAGES, PublishOptions
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import Bar, at_terminal, console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.release.approval import Approval
    from owner_agent.release.prepared import PreparedRelease
    from owner_agent.release.publish import PreparedRecords, PublishOutcome
    from owner_agent.site.site import Site
    from owner_agent.state.environment import Environment
    from pramana_core.report.report import Report

PublishOption = Annotated[
    bool, typer.Option("--publish", help="Show it, ask, and send it; without it nothing leaves.")
]
YesOption = Annotated[
    bool, typer.Option("--yes", help="Publish without showing the report and asking.")
]
ReportOption = Annotated[
    Path | None, typer.Option(help="An .html file or a folder for the report.")
]
NoReportOption = Annotated[bool, typer.Option("--no-report", help="Write no file, print only.")]
PartRecordsOption = Annotated[int, typer.Option(help="Records in a part.")]
NewPeopleOption = Annotated[
    bool,
    typer.Option(
        "--accept-new-people",
        help="Publish although many records are new: of people who were never reported.",
    ),
]
AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-added-loss",
        help="Publish although a column left in another form; what both tell adds.",
    ),
]


@dataclass(frozen=True)
class ReleaseCommand:
    """What is asked of a command that shows a release and may publish it."""

    path: Path
    site: Site
    environment: Environment
    publish: bool
    yes: bool
    report: Path | None
    no_report: bool
    json: bool

    def __post_init__(self) -> None:
        if self.report is not None and self.no_report:
            raise OptionError("Give --report or --no-report, not both.", where="report")

    @property
    def asking(self) -> bool:
        """Whether a person is shown the release and asked."""
        return self.publish and not self.yes

    def page(self, name: str, *, always: bool = False) -> Path | None:
        """Return where the report goes, or None without one. Raises OptionError.

        Scripts that ask for JSON get a page if they name one; `always` draws it all the same.
        """
        from owner_agent.report.files import place

        if self.no_report or (self.json and self.report is None and not always):
            return None
        return place(self.site.state, self.report, name)

    def show(self, made: Report, page: Path | None) -> None:
        """Print the essentials of a report, and where its page is."""
        from owner_agent.cli.releases_shown import show_written
        from pramana_core.report.terminal import print_report

        print_report(made, console(), console(stderr=True))
        if page is not None:
            show_written(console(), page)

    def require_yes(self, page: Path | None, show: Callable[[], object]) -> None:
        """Show what would leave, and ask. Raises OptionError if nobody can be asked."""
        if not at_terminal() or self.json:
            where = "" if page is None else f" What it would reveal is in {page}."
            raise OptionError(
                f"Nothing was sent: publication was not confirmed.{where}",
                where="yes",
                remedy="Run it at a terminal, which shows the report and asks; or say --yes.",
            )
        show()
        miner = self.site.miner
        if not typer.confirm(f"Publish this to {miner.study} at {miner.url}?"):
            console().print("Nothing was sent.", markup=False)
            raise typer.Exit


def plan(
    context: typer.Context,
    site: SiteOption = SITE,
    records: RecordsOption = None,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    json: JsonOption = False,
) -> None:
    """Report what publishing would reveal, and how accurate the results would be."""
    from owner_agent.cli.releases_shown import show_lines
    from owner_agent.report.files import write
    from owner_agent.report.plan import PAGE, others_apart, site_report
    from owner_agent.report.plan import STAGES as PLAN_STAGES
    from owner_agent.site.site import load_site

    require_countable(records)
    opened, environment = load_site(site), environment_of(context)
    asked = ReleaseCommand(site, opened, environment, False, False, report, no_report, json)
    with progress_bar() as bar:

        def watch(stage: str, done: int, total: int) -> None:
            bar.stage(PLAN_STAGES[stage], done, total)

        made = site_report(opened, environment, records, watch)
        page = asked.page(PAGE)
        if page is not None:
            write(made, opened.owner, page, partial(_on(bar), "drawing"))
    if json:
        print_json(made.as_dict())
        return
    asked.show(made, page)
    show_lines(console(), others_apart(opened))


def publish(
    context: typer.Context,
    site: SiteOption = SITE,
    part_records: PartRecordsOption = PART_RECORDS,
    accept_added_loss: AcceptOption = False,
    corrections: CorrectionsOption = None,
    accept_new_people: NewPeopleOption = False,
    yes: YesOption = False,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    json: JsonOption = False,
) -> None:
    """Randomize the table and publish it, or continue where that was interrupted.

    First it shows the report of `plan`, on a page and in short, and asks; a script says --yes.
    Without a yes nothing leaves.
    """
    from owner_agent.cli.releases_shown import show_lines
    from owner_agent.release.approval import Approval
    from owner_agent.release.publish import PreparedRecords
    from owner_agent.report.losses import compare
    from owner_agent.report.outcomes import found_wrong, outcome_lines
    from owner_agent.report.plan import (
        PAGE,
        adopted_sections,
        others_apart,
        require_accepted,
        secrets_said,
        site_report,
        warnings,
    )
    from owner_agent.report.study import outlook_of, study_json, study_sections
    from owner_agent.site.planning import planned
    from owner_agent.site.site import load_site
    from pramana_core.report.terminal import print_sections, print_warnings

    environment, opened = environment_of(context), load_site(site)
    asked = ReleaseCommand(site, opened, environment, True, yes, report, no_report, json)
    approval = None if yes else Approval.of(opened)
    plan = planned(opened)
    forecast = outlook_of(opened, plan, environment)
    if yes:
        print_warnings(console(stderr=True), warnings(plan))
        if not json:
            sections = [*adopted_sections(plan.adopted), *study_sections(forecast)]
            print_sections(sections, console(), console(stderr=True))
    require_accepted(opened, plan, environment, forecast)
    options = PublishOptions(part_records, accept_added_loss, corrections, accept_new_people)
    secrets: list[str] = []

    def report_of(now: PreparedRecords, _watch: StagedProgress) -> Report | None:
        if yes:
            # A script hears of the larger loss here.
            losses = compare(now.draws, now.entries)
            secrets.extend(secrets_said(now.one_secret, losses))
            return None
        return site_report(opened, environment, now=now, study=forecast)

    page = asked.page(PAGE)
    outcome = _published(PreparedRecords, asked, options, page, report_of, approval)
    if json:
        print_json({**outcome.as_dict(), **study_json(forecast)})
    else:
        show_lines(console(), [*outcome_lines(outcome), *others_apart(opened)])
    print_warnings(console(stderr=True), [*secrets, *found_wrong(outcome)])


def mask(
    context: typer.Context,
    site: SiteOption = SITE,
    publish: PublishOption = False,
    yes: YesOption = False,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    part_records: PartRecordsOption = PART_RECORDS,
    accept_added_loss: AcceptOption = False,
    json: JsonOption = False,
) -> None:
    """Mask the confidential columns, report on them, and publish them if asked to."""
    from owner_agent.release.masked import PreparedMask
    from owner_agent.report.masked import PAGE, report_of
    from owner_agent.site.site import load_site

    opened, environment = load_site(site), environment_of(context)
    asked = ReleaseCommand(site, opened, environment, publish, yes, report, no_report, json)
    options = PublishOptions(part_records, accept_added_loss)
    _release(PreparedMask, asked, options, PAGE, report_of)


def share_model(
    context: typer.Context,
    site: SiteOption = SITE,
    publish: PublishOption = False,
    yes: YesOption = False,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    accept_added_loss: AcceptOption = False,
    json: JsonOption = False,
) -> None:
    """Learn a tree, make it anonymous or private, show it, and publish it if asked to."""
    from owner_agent.release.tree import PreparedTree
    from owner_agent.report.trees import PAGE, report_of
    from owner_agent.site.site import load_site

    opened, environment = load_site(site), environment_of(context)
    asked = ReleaseCommand(site, opened, environment, publish, yes, report, no_report, json)
    options = PublishOptions(accept_added_loss=accept_added_loss)
    _release(PreparedTree, asked, options, PAGE, report_of)


def _release(
    kind: type[PreparedRelease],
    asked: ReleaseCommand,
    options: PublishOptions,
    name: str,
    report_of: Callable[[Any, StagedProgress], Report],
) -> None:
    """Make a release and report on it, and publish it if that is asked for."""
    from owner_agent.cli.releases_shown import show_lines
    from owner_agent.release.approval import Approval
    from owner_agent.report.files import write
    from owner_agent.report.outcomes import found_wrong, outcome_lines
    from owner_agent.report.study import people_of, people_sections
    from owner_agent.state.keys import KeyStore
    from pramana_core.report.terminal import print_sections, print_warnings

    site = asked.site
    _ = getattr(site, kind.section)  # raises where the site file does not say
    page, outcome, loud = asked.page(name, always=asked.publish), None, console(stderr=True)
    made: list[Report] = []

    def noted(now: PreparedRelease, watch: StagedProgress) -> Report:
        made.append(report_of(now, watch))
        return made[0]

    if asked.publish:
        study = people_of(site, asked.environment)
        print_sections(people_sections(study), console(stderr=asked.json), loud)
        approval = Approval.of(site) if asked.asking else None
        outcome = _published(kind, asked, options, page, noted, approval)
    else:
        with progress_bar() as bar:
            watch = _on(bar)
            now = kind.of(site, watch, replace(options, preview=True), asked.environment)
            noted(now, watch)
            if page is not None:
                write(made[0], site.owner, page, partial(watch, "drawing"))
    if asked.json:
        answer = None if outcome is None else outcome.as_dict()
        print_json({**made[0].as_dict(), "release": answer})
    else:
        if not asked.asking:
            asked.show(made[0], page)
        if outcome is not None:
            show_lines(console(), outcome_lines(outcome))
    if outcome is not None:
        print_warnings(loud, found_wrong(outcome))
    elif not KeyStore(site.state).path("draw").exists():
        without = "This site has no keys yet (`owner-agent join` or `keys create` makes them):"
        print_warnings(loud, [f"{without} what leaves will be drawn by them, anew."])


def _published(
    kind: type[PreparedRelease],
    asked: ReleaseCommand,
    options: PublishOptions,
    page: Path | None,
    report_of: Callable[[Any, StagedProgress], Report | None],
    approval: Approval | None,
) -> PublishOutcome:
    """Publish, and show and ask before: `approval` is to what the site said when it was opened."""
    from owner_agent.release.publish import publish as publish_release
    from owner_agent.report.files import write
    from owner_agent.site.site import load_site

    with progress_bar(patience=0) as bar:
        watch = _on(bar)

        def show(now: Any) -> PublishOptions | None:
            made = report_of(now, watch)
            if made is not None and page is not None:
                write(made, asked.site.owner, page, partial(watch, "drawing"))
            if approval is None or made is None:
                return None
            bar.end()
            asked.require_yes(page, lambda: asked.show(made, page))
            agreed = options.accept_new_people
            if now.large_exchange is not None and not agreed:
                agreed = typer.confirm(
                    f"{now.large_exchange} Are the new records people who were never reported"
                    " before?"
                )
            approval.require(load_site(asked.path))
            return replace(options, accept_new_people=agreed)

        return publish_release(kind, asked.site, asked.environment, options, watch, show)


def new_epoch(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, although nothing is missing.")] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """After a loss without a backup: count all that the miner has, and draw everything anew.

    What is published from then on costs its whole epsilon once more, and nothing takes that back.
    """
    from owner_agent.cli.releases_shown import show_lines
    from owner_agent.release.new_epoch import begin_new_epoch
    from owner_agent.report.releases import new_epoch_json, new_epoch_lines
    from owner_agent.site.site import load_site

    begun = begin_new_epoch(load_site(site), environment_of(context), anyway=yes)
    if json:
        print_json(new_epoch_json(begun))
    else:
        show_lines(console(), new_epoch_lines(begun))


def withdraw(
    context: typer.Context,
    release: Annotated[str, typer.Argument(help="The release's name, as in the ledger.")],
    site: SiteOption = SITE,
) -> None:
    """Ask the miner to use a release no more; the ledger keeps it."""
    from owner_agent.release.delivery import withdraw as withdraw_release
    from owner_agent.site.site import load_site

    withdraw_release(load_site(site), release, environment_of(context))
    console().print(f"Release {release} is withdrawn.", markup=False)


def _on(bar: Bar) -> StagedProgress:
    """Return what shows the stages of a release on a bar; without parts nothing is uploaded."""

    def watch(stage: str, done: int, total: int, /) -> None:
        if total:
            bar.stage(STAGES[stage], done, total)

    return watch

"""The commands that release: `publish`, `mask`, `share-model`, `withdraw` and `new-epoch`."""

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
    SiteOption,
    environment_of,
)
from owner_agent.release.options import PART_RECORDS, STAGES, PublishOptions
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import Bar, at_terminal, console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.release.prepared import PreparedRelease
    from owner_agent.report.page import ReportView
    from owner_agent.report.release_report import ReleaseReport
    from owner_agent.site.site import Site

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
    from owner_agent.cli.reading import report_page, show_report
    from owner_agent.cli.releases_shown import show_lines
    from owner_agent.release.approval import Approval
    from owner_agent.release.publish import PreparedRecords
    from owner_agent.release.publish import publish as publish_release
    from owner_agent.report.losses import compare
    from owner_agent.report.outcomes import found_wrong, outcome_lines
    from owner_agent.report.page import show_warnings
    from owner_agent.report.plan_shown import show_adopted
    from owner_agent.report.report import (
        others_apart,
        require_accepted,
        secrets_said,
        site_report,
        warnings,
    )
    from owner_agent.report.whole_study import outlook_of, show_study, study_json
    from owner_agent.site.planning import planned
    from owner_agent.site.site import load_site

    environment, opened = environment_of(context), load_site(site)
    approval = None if yes else Approval.of(opened)
    plan = planned(opened)
    forecast = outlook_of(opened, plan, environment)
    if yes:
        show_warnings(console(stderr=True), warnings(plan))
    if yes and not json:
        show_adopted(console(), plan.adopted)
        show_study(console(), forecast)
    require_accepted(opened, plan, environment, forecast)
    options = PublishOptions(part_records, accept_added_loss, corrections, accept_new_people)
    secrets: list[str] = []
    with progress_bar(patience=0) as bar:

        def show(now: PreparedRecords) -> PublishOptions | None:
            if approval is None:
                # A script hears of the larger loss here.
                losses = compare(now.draws, now.entries, keys_known=True)
                secrets.extend(secrets_said(now.one_secret, losses))
                return None
            made = site_report(opened, environment, now=now, study=forecast)
            page = report_page(
                made, opened, report, no_report=no_report or (json and report is None)
            )
            bar.end()
            _require_yes(opened, page, lambda: show_report(made, opened, page), json=json)
            agreed = accept_new_people
            if now.large_exchange is not None and not agreed:
                agreed = typer.confirm(
                    f"{now.large_exchange} Are the new records people who were never reported"
                    " before?"
                )
            approval.require(load_site(site))
            return replace(options, accept_new_people=agreed)

        try:
            outcome = publish_release(PreparedRecords, opened, environment, options, _on(bar), show)
        except _Declined:
            return
    if json:
        print_json({**outcome.as_dict(), **study_json(forecast)})
    else:
        show_lines(console(), [*outcome_lines(outcome), *others_apart(opened)])
    show_warnings(console(stderr=True), [*secrets, *found_wrong(outcome)])


class _Declined(Exception):
    """Somebody said no: nothing is written down or sent."""


def _require_yes(site: Site, page: Path | None, show: Callable[[], object], *, json: bool) -> None:
    """Show what would leave, and ask. Raises OptionError or _Declined."""
    if not at_terminal() or json:
        where = "" if page is None else f" What it would reveal is in {page}."
        raise OptionError(
            f"Nothing was sent: publication was not confirmed.{where}",
            where="yes",
            remedy="Run it at a terminal, which shows the report and asks; or say --yes.",
        )
    show()
    if not typer.confirm(f"Publish this to {site.miner.study} at {site.miner.url}?"):
        console().print("Nothing was sent.", markup=False)
        raise _Declined


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
    from owner_agent.report.masked import MASKED, report_of

    options = PublishOptions(part_records, accept_added_loss)
    asked = ReleaseOptions(site, publish, yes, report, no_report, json)
    _release(context, PreparedMask, report_of, MASKED, asked, options)


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
    from owner_agent.report.trees import TREE, report_of

    options = PublishOptions(accept_added_loss=accept_added_loss)
    asked = ReleaseOptions(site, publish, yes, report, no_report, json)
    _release(context, PreparedTree, report_of, TREE, asked, options)


def new_epoch(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, although nothing is missing.")] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """After a loss without a backup: count all that the miner has, and draw everything anew.

    What is published from then on costs its whole epsilon once more, and nothing takes that back.
    """
    from owner_agent.cli.releases_shown import show_new_epoch
    from owner_agent.release.new_epoch import begin_new_epoch
    from owner_agent.report.releases import new_epoch_json
    from owner_agent.site.site import load_site

    begun = begin_new_epoch(load_site(site), environment_of(context), anyway=yes)
    if json:
        print_json(new_epoch_json(begun))
    else:
        show_new_epoch(console(), begun)


def withdraw(
    context: typer.Context,
    release: Annotated[str, typer.Argument(help="The release's name, as in the ledger.")],
    site: SiteOption = SITE,
) -> None:
    """Ask the miner to use a release no more; the ledger keeps it."""
    from owner_agent.release.withdraw import withdraw as withdraw_release
    from owner_agent.site.site import load_site

    withdraw_release(load_site(site), release, environment_of(context))
    console().print(f"Release {release} is withdrawn.", markup=False)


@dataclass(frozen=True)
class ReleaseOptions:
    """What is asked of a command that shows a release and may publish it."""

    site: Path
    publish: bool
    yes: bool
    report: Path | None
    no_report: bool
    json: bool

    def page(self, site: Site, shown: ReportView[Any]) -> Path | None:
        """Return where the report goes, or None without one. Raises OptionError."""
        if self.report is not None and self.no_report:
            raise OptionError("Give --report or --no-report, not both.", where="report")
        # Scripts that ask for JSON get it on standard output; what is published is drawn all the
        # same.
        if self.no_report or (self.json and self.report is None and not self.publish):
            return None
        return shown.place(site.state, self.report)


def _release(
    context: typer.Context,
    kind: type[PreparedRelease],
    report_of: Callable[[Any, StagedProgress], ReleaseReport[Any]],
    shown: ReportView[Any],
    asked: ReleaseOptions,
    options: PublishOptions,
) -> None:
    """Make a release and report on it, and publish it if that is asked for."""
    from owner_agent.cli.releases_shown import show_lines, show_written
    from owner_agent.release.approval import Approval
    from owner_agent.release.publish import publish as publish_release
    from owner_agent.report.outcomes import found_wrong, outcome_lines
    from owner_agent.report.page import show_warnings
    from owner_agent.report.whole_study import people_told, show_people
    from owner_agent.site.site import load_site
    from owner_agent.state.keys import KeyStore

    opened, environment = load_site(asked.site), environment_of(context)
    _ = getattr(opened, kind.section)  # raises where the site file does not say
    page = asked.page(opened, shown)
    study = people_told(opened, environment) if asked.publish else None
    show_people(console(stderr=asked.json), study)
    made: list[ReleaseReport[Any]] = []
    asking = asked.publish and not asked.yes
    outcome, approval = None, Approval.of(opened) if asking else None
    with progress_bar() as bar:
        watch = _on(bar)

        def show_report() -> None:
            shown.printed(console(), console(stderr=True), made[0])
            if page is not None:
                show_written(console(), page)

        def show(now: PreparedRelease) -> None:
            made.append(report_of(now, watch))
            if page is not None:
                shown.write(made[0], opened.owner, page, partial(watch, "drawing"))
            if approval is not None:
                bar.end()
                _require_yes(opened, page, show_report, json=asked.json)
                approval.require(load_site(asked.site))

        if asked.publish:
            try:
                outcome = publish_release(kind, opened, environment, options, watch, show)
            except _Declined:
                return
        else:
            show(kind.of(opened, watch, replace(options, preview=True), environment))
    if asked.json:
        answer = None if outcome is None else outcome.as_dict()
        print_json({**made[0].as_dict(), "release": answer})
    else:
        if not asking:
            show_report()
        if outcome is not None:
            show_lines(console(), outcome_lines(outcome))
    if outcome is not None:
        show_warnings(console(stderr=True), found_wrong(outcome))
    elif not KeyStore(opened.state).path("draw").exists():
        without = "This site has no keys yet (`owner-agent join` or `keys create` makes them):"
        show_warnings(console(stderr=True), [f"{without} what leaves will be drawn by them, anew."])


def _on(bar: Bar) -> StagedProgress:
    """Return what shows the stages of a release on a bar; without parts nothing is uploaded."""

    def watch(stage: str, done: int, total: int, /) -> None:
        if total:
            bar.stage(STAGES[stage], done, total)

    return watch

"""The commands for releases: `plan`, `publish`, `mask`, `share-model`, `withdraw`, `new-epoch`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from owner_agent.cli.options import (
    SITE,
    CorrectionsOption,
    JsonOption,
    SiteOption,
    environment_of,
    show_lines,
    write_changes,
)
from owner_agent.release.options import PART_RECORDS, STAGES, PublishOptions
from pramana_core.alike import first_few
from pramana_core.errors import OptionError
from pramana_core.progress import StagedProgress
from pramana_core.terminal import Bar, at_terminal, console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.release.approval import Approval
    from owner_agent.release.prepared import PreparedRelease
    from owner_agent.release.publish import PublishOutcome
    from owner_agent.site.site import Site
    from owner_agent.site.writing import ExtendedSite
    from owner_agent.state.environment import Environment
    from pramana_core.report.report import Report

PublishOption = Annotated[
    bool,
    typer.Option(
        "--publish",
        help="Show the release and send it after you confirm. Without this option nothing is sent.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        help="Show the release and, after you confirm, write it into this new file "
        "instead of sending it to a miner."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Publish without confirmation.")]
ReportOption = Annotated[Path | None, typer.Option(help="The .html file to write the report to.")]
NoReportOption = Annotated[
    bool, typer.Option("--no-report", help="Only print the report, and write no file.")
]
PartRecordsOption = Annotated[int, typer.Option(help="The most records in a part of the upload.")]
NewPeopleOption = Annotated[
    bool,
    typer.Option(
        "--accept-new-people",
        help="Publish although many records are new. Confirms that these people were never "
        "reported.",
    ),
]
AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-added-loss",
        help="Publish although a column was released before in another way; the losses add.",
    ),
]


@dataclass(frozen=True)
class ReleaseCommand:
    """A command that shows a release and may publish it, with the arguments of the call."""

    path: Path
    site: Site
    environment: Environment
    publish: bool
    yes: bool
    report: Path | None
    no_report: bool
    json: bool
    out: Path | None = None

    @classmethod
    def of(cls, context: typer.Context, path: Path, *choices: Any) -> Self:
        """Open the site file, and check the options. Raises ConfigError, OptionError."""
        from owner_agent.site.site import load_site

        return cls(path, load_site(path), environment_of(context), *choices)

    def __post_init__(self) -> None:
        if self.report is not None and self.no_report:
            raise OptionError("Give --report or --no-report, not both.", where="report")
        if self.publish and self.out is not None:
            raise OptionError("Give --publish or --out, not both.", where="out")

    @property
    def leaves(self) -> bool:
        """Whether the command releases anything, to the miner or into a file."""
        return self.publish or self.out is not None

    def ask_names(self, option: str, question: str, default: str | None = None) -> list[str]:
        """Ask a person for the names of columns. Raises OptionError without a terminal."""
        columns = [v.source for v in self.site.file.variables]
        if not at_terminal() or self.yes:
            raise OptionError(
                f"The site file lacks the section of this command, and --{option} is not given.",
                where=option,
                remedy=f"Give --{option} COLUMN, or run the command at a terminal. The variables"
                f" are {first_few(columns, 12)}.",
            )
        show_lines([f"Variables of {self.path}: {', '.join(columns)}."])
        names = typer.prompt(f"{question} (separated by commas)", default=default)
        return [] if names == "none" else [name.strip() for name in names.split(",")]

    def extended(self, extended: ExtendedSite) -> Self:
        """Write a new section to the site file if a person agrees; return the command with it."""
        if not write_changes(extended, yes=self.yes, show=not self.json):
            raise typer.Exit
        return replace(self, site=extended.site)

    def approval(self) -> Approval | None:
        """Return the approval of the current site, or None if the command does not ask for one."""
        from owner_agent.release.approval import Approval

        return Approval.of(self.site) if self.asking else None

    @property
    def asking(self) -> bool:
        """Whether the command asks a person to confirm the release."""
        return self.leaves and not self.yes

    def page(self, name: str) -> Path | None:
        """Return the path for the report, or None if --json without --publish writes no page."""
        from owner_agent.report.files import place

        if self.no_report or (self.json and not self.leaves and self.report is None):
            return None
        return place(self.site.state, self.report, name)

    def show(self, made: Report, page: Path | None) -> None:
        """Print the main points of a report, and the path of the whole report."""
        from pramana_core.report.terminal import print_report

        print_report(made, console(), console(stderr=True))
        if page is not None:
            inside = page.is_relative_to(Path.cwd())
            shown = page.relative_to(Path.cwd()) if inside else page
            show_lines(["The full report is in", str(shown)])

    def require_yes(self, page: Path | None, show: Callable[[], object]) -> None:
        """Show the release and ask for confirmation. Raises OptionError without a terminal."""
        if not at_terminal() or self.json:
            where = "" if page is None else f" The report is in {page}."
            raise OptionError(
                f"Nothing was sent: publication was not confirmed.{where}",
                where="yes",
                remedy="Run the command at a terminal to review the report, or add --yes.",
            )
        show()
        question = f"Write this release into {self.out}?"
        if self.publish:
            question = f"Publish this release to {self.site.miner.study} at {self.site.miner.url}?"
        if not typer.confirm(question):
            console().print("Nothing was sent.", markup=False)
            raise typer.Exit


def plan(
    context: typer.Context,
    site: SiteOption = SITE,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    json: JsonOption = False,
) -> None:
    """Report what publishing would reveal, and how accurate the results would be."""
    command = ReleaseCommand.of(context, site, False, False, report, no_report, json)
    made, _ = _records(command, PublishOptions())
    if json:
        print_json(made.as_dict())


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
    """Randomize the table and publish it, or continue an interrupted publication.

    The command first prints a summary of the report of `plan`, writes the whole report to a page,
    and asks for your approval. In scripts, add --yes. Nothing is sent without your approval.
    """
    from pramana_core.report.terminal import print_warnings

    no_report = no_report or (yes and report is None)
    command = ReleaseCommand.of(context, site, True, yes, report, no_report, json)
    options = PublishOptions(part_records, accept_added_loss, corrections, accept_new_people)
    made, outcome = _records(command, options)
    if json and outcome is not None:
        study = {name: made.numbers[name] for name in ("study", "study_unknown")}
        print_warnings(console(stderr=True), made.said("warning", "grave"))
        print_json({**outcome.as_dict(), **study})


def _records(
    command: ReleaseCommand, options: PublishOptions
) -> tuple[Report, PublishOutcome | None]:
    """Report on the randomized records, and publish them if the command is `publish`."""
    from owner_agent.release.publish import PreparedRecords
    from owner_agent.report.plan import PAGE, report_of, require_accepted, separate_release_lines
    from owner_agent.report.study import outlook_of
    from owner_agent.site.planning import planned

    site, environment = command.site, command.environment
    approval = command.approval()
    plan = planned(site)
    forecast = outlook_of(site, plan, environment)
    if command.publish:
        require_accepted(site, plan, environment, forecast)
    done = _release(
        PreparedRecords, command, options, PAGE, partial(report_of, site, forecast), approval
    )
    if not command.json:
        show_lines(separate_release_lines(site))
    return done


def mask(
    context: typer.Context,
    site: SiteOption = SITE,
    confidential: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of numbers to mask. Repeatable."),
    ] = None,
    tell: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column to send unchanged. Repeatable."),
    ] = None,
    publish: PublishOption = False,
    out: OutOption = None,
    yes: YesOption = False,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    part_records: PartRecordsOption = PART_RECORDS,
    accept_added_loss: AcceptOption = False,
    json: JsonOption = False,
) -> None:
    """Mask the confidential columns, and report on the result. Publish it if requested.

    If the site file has no section [mask], give the columns by options or at the prompt. Options
    replace an existing section.
    """
    from owner_agent.release.masked import PreparedMask
    from owner_agent.report.masked import PAGE, report_of

    command = ReleaseCommand.of(context, site, publish, yes, report, no_report, json, out)
    if command.site.file.mask is None or confidential or tell:
        from owner_agent.table.proposing_sections import with_mask

        names = confidential or command.ask_names("confidential", "Columns of numbers to mask")
        if tell is None and not confidential:
            public = ",".join(v.source for v in command.site.file.variables if not v.sensitive)
            tell = command.ask_names("tell", "Columns to send unchanged", public or "none")
        command = command.extended(with_mask(command.site, site, names, tell))
    options = PublishOptions(part_records, accept_added_loss)
    _mask_or_tree(PreparedMask, command, options, PAGE, report_of)


def share_model(
    context: typer.Context,
    site: SiteOption = SITE,
    target: Annotated[
        str | None, typer.Option(help="The variable that the tree predicts from all others.")
    ] = None,
    k: Annotated[
        float | None,
        typer.Option("--k", help="The smallest count of records allowed on a path; default 10."),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Instead of --k: learn a private tree with this epsilon.")
    ] = None,
    publish: PublishOption = False,
    out: OutOption = None,
    yes: YesOption = False,
    report: ReportOption = None,
    no_report: NoReportOption = False,
    accept_added_loss: AcceptOption = False,
    json: JsonOption = False,
) -> None:
    """Learn an anonymous or private tree, and show it. Publish it if requested.

    If the site file has no section [share_model], give the target by an option or at the prompt.
    Options replace an existing section.
    """
    from owner_agent.release.tree import PreparedTree
    from owner_agent.report.trees import PAGE, report_of

    command = ReleaseCommand.of(context, site, publish, yes, report, no_report, json, out)
    shared = command.site.file.share_model
    if shared is None or any(option is not None for option in (target, k, epsilon)):
        from owner_agent.table.proposing_sections import with_tree

        if k is not None and epsilon is not None:
            raise OptionError("Give --k or --epsilon, not both.", where="epsilon")
        if target is None and shared is not None:
            target = shared.target.column
        target = target or ",".join(command.ask_names("target", "The variable to predict"))
        command = command.extended(with_tree(command.site, site, target, k, epsilon))
    options = PublishOptions(accept_added_loss=accept_added_loss)
    _mask_or_tree(PreparedTree, command, options, PAGE, report_of)


def _mask_or_tree(
    kind: type[PreparedRelease],
    command: ReleaseCommand,
    options: PublishOptions,
    name: str,
    report_of: Callable[[Any, StagedProgress], Report],
) -> None:
    from owner_agent.state.keys import KeyStore
    from pramana_core.report.terminal import print_warnings

    site = command.site
    _ = getattr(site, kind.section)  # raises if the section is missing
    made, outcome = _release(kind, command, options, name, report_of, command.approval())
    if command.json:
        answer = None if outcome is None else outcome.as_dict()
        print_json({**made.as_dict(), "release": answer})
    if not command.leaves and not KeyStore(site.state).path("draw").exists():
        without = "This site has no keys yet (`owner-agent join` or `keys create` creates them)."
        print_warnings(
            console(stderr=True), [f"{without} The release will be drawn with the new keys."]
        )


def _release(
    kind: type[PreparedRelease],
    command: ReleaseCommand,
    options: PublishOptions,
    name: str,
    report_of: Callable[[Any, StagedProgress], Report],
    approval: Approval | None,
) -> tuple[Report, PublishOutcome | None]:
    from owner_agent.release.publish import publish as publish_release
    from owner_agent.release.publish import release_to_file
    from owner_agent.report.files import write
    from owner_agent.report.outcomes import found_wrong, outcome_lines
    from owner_agent.report.study import steps_after
    from owner_agent.site.site import load_site
    from owner_agent.state.keys import KeyStore
    from pramana_core.report.terminal import print_warnings

    site, page, outcome = command.site, command.page(name), None
    made: list[Report] = []
    with progress_bar(patience=0) as bar:
        watch = _on(bar)

        def show(now: Any) -> PublishOptions | None:
            made.append(report_of(now, watch))
            if page is not None:
                write(made[0], site.owner, page, partial(watch, "drawing"))
            if approval is None:
                return None
            bar.end()
            command.require_yes(page, lambda: command.show(made[0], page))
            agreed = options.accept_new_people
            if now.large_exchange is not None and not agreed:
                agreed = typer.confirm(
                    f"{now.large_exchange} Do they belong to people never reported before?"
                )
            approval.require(load_site(command.path))
            return replace(options, accept_new_people=agreed)

        if command.out is not None:
            keys = KeyStore(site.state)
            if not keys.path("draw").exists():
                keys.create("draw", command.environment.random_bytes)
                show_lines(
                    [f"Created your draw key, {keys.path('draw')}, which never leaves this site."]
                )
            into = partial(release_to_file, kind, command.out)
            outcome = into(site, command.environment, replace(options, alone=True), watch, show)
        elif command.publish:
            outcome = publish_release(kind, site, command.environment, options, watch, show)
        else:
            show(kind.of(site, watch, replace(options, preview=True), command.environment))
    if not (command.json or command.asking):
        command.show(made[0], page)
    if outcome is not None:
        if not command.json:
            show_lines(outcome_lines(outcome))
            show_lines(steps_after(site, command.environment) if command.publish else [])
        print_warnings(console(stderr=True), found_wrong(outcome))
    return made[0], outcome


def new_epoch(
    context: typer.Context,
    yes: Annotated[
        bool, typer.Option("--yes", help="Start a new epoch although the ledger lacks no release.")
    ] = False,
    site: SiteOption = SITE,
) -> None:
    """Recover from a loss without a backup: complete the ledger from the miner, and draw anew.

    Each later release then adds its whole epsilon to the earlier loss, permanently.
    """
    from owner_agent.release.new_epoch import begin_new_epoch
    from owner_agent.report.releases import new_epoch_lines
    from owner_agent.site.site import load_site

    begun = begin_new_epoch(load_site(site), environment_of(context), anyway=yes)
    show_lines(new_epoch_lines(begun))


def withdraw(
    context: typer.Context,
    release: Annotated[str, typer.Argument(help="The release's name in the ledger.")],
    site: SiteOption = SITE,
) -> None:
    """Withdraw a release at the miner. The release stays in the ledger."""
    from owner_agent.release.delivery import withdraw as withdraw_release
    from owner_agent.site.site import load_site

    withdraw_release(load_site(site), release, environment_of(context))
    console().print(f"Release {release} is withdrawn.", markup=False)


def _on(bar: Bar) -> StagedProgress:
    def watch(stage: str, done: int, total: int, /) -> None:
        if total:
            bar.stage(STAGES[stage], done, total)

    return watch

"""The `study` commands: the API's functions for studies, for use on the miner's own machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from miner_service.cli.handing_over import (
    require_absent,
    secret_in,
    where_it_is,
)
from miner_service.cli.opening import note, noted, on_store, require_study, say, say_next
from miner_service.cli.study_plan import StudyName, study_plan_commands
from pramana_core.alike import did_you_mean
from pramana_core.errors import BudgetExceeded, NotFound, OptionError
from pramana_core.report.numbers import plural
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    from miner_service.http.access.access import Caller
    from miner_service.services import Services
    from pramana_core.wire.models import DashboardStudy
    from pramana_core.wire.privacy import StudyCreate, TokenIssued

MessageT = TypeVar("MessageT", bound="BaseModel")

_REMEDIES = {
    "title": "Give a shorter title.",
    "max_epsilon_record": "A budget is a positive number, usually between 1 and 10.",
    "max_epsilon_column": "A budget is a positive number, usually between 1 and 10.",
    "max_central_epsilon": "A central budget is a positive number, such as 1.",
    "central_delta": "A delta is above 0 and below 1, such as 1e-8.",
    "central_records": "Give the minimum count of records that an owner will release.",
    "people": "Choose same, different or overlapping.",
}
_NAMED = "A name has at most 64 letters, digits and . _ -, and starts with a letter or digit."

UrlOption = Annotated[
    str | None,
    typer.Option(
        help="The address at which people reach the miner, if it differs from that of `serve`."
    ),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Revoke the earlier tokens with this name.")
]
FolderOption = Annotated[Path, typer.Option(help="The folder for the invitation files.")]
RecordBudget = Annotated[
    float | None,
    typer.Option(
        "--max-epsilon-record",
        help="The maximum epsilon of a record over all owners, for columns that determine each"
        " other.",
    ),
]
ColumnBudget = Annotated[
    float | None,
    typer.Option("--max-epsilon-column", help="The maximum epsilon of a column by its own draws."),
]

CentralBudget = Annotated[
    float | None,
    typer.Option(
        "--central-epsilon",
        help="The maximum epsilon of a record against readers who cannot link reports to people.",
    ),
]
DeltaOption = Annotated[
    float | None,
    typer.Option(
        "--delta", help="The probability that the central epsilon is exceeded (default 1e-8)."
    ),
]
RecordsOption = Annotated[
    int | None,
    typer.Option("--records", help="The minimum records of a release; --central-epsilon needs it."),
]


def study_commands() -> typer.Typer:
    """Return the commands for studies."""
    app = typer.Typer(help="Manage studies, also while the service runs.", no_args_is_help=True)
    for command in (create, invite, remove, analyst, gateway, show, budget, people, delete):
        app.command()(command)
    app.command("list")(list_command)
    app.add_typer(study_plan_commands(), name="plan")
    return app


@on_store()
def create(
    services: Services,
    name: Annotated[str, typer.Argument(help="At most 64 letters, digits and . _ -.")],
    title: Annotated[str, typer.Option(help="The title shown to people.")] = "",
    max_epsilon_record: RecordBudget = None,
    max_epsilon_column: ColumnBudget = None,
    central_epsilon: CentralBudget = None,
    delta: DeltaOption = None,
    records: RecordsOption = None,
    people: Annotated[
        str,
        typer.Option(
            help="Whether the owners have the `same` people, `different` people, or `overlapping`"
            " people (some may be the same). Owners' losses add up except for different people.",
        ),
    ] = "overlapping",
    owners: Annotated[
        str, typer.Option(metavar="A,B,C", help="Owners to invite, each with a separate file.")
    ] = "",
    url: UrlOption = None,
    folder: FolderOption = Path(),
) -> None:
    """Create a study and invite its owners."""
    from miner_service.http.endpoints import studies
    from miner_service.store.address import address_of
    from pramana_core.wire.base import holding
    from pramana_core.wire.privacy import StudyCreate

    body = _message(
        StudyCreate,
        name=name,
        title=title,
        max_epsilon_record=max_epsilon_record,
        max_epsilon_column=max_epsilon_column,
        people=people,
        **_central(central_epsilon, delta, records),
    )
    invited = [owner.strip() for owner in owners.split(",") if owner.strip()]
    files = _invitation_files(name, invited, folder)
    address = address_of(services.settings, url) if invited else ""
    with noted(services, "create_study", name, 201) as answer:
        studies.create_study(body, services, answer)
    opened = "was created" if answer.status_code == 201 else "already exists"
    say(f"Study {name} {opened}{_budget_words(body)}. Its owners {holding(body.people)}.")
    _invite(services, name, files, address)
    say_next(services, name)


@on_store()
def invite(
    services: Services,
    name: StudyName,
    owners: Annotated[list[str], typer.Argument(metavar="OWNER...", help="Names of owners.")],
    url: UrlOption = None,
    folder: FolderOption = Path(),
) -> None:
    """Invite owners into a study, each with a separate file for that owner only.

    The secret in a file works once, within a week. `owner-agent join FILE` accepts the invitation.
    """
    from miner_service.store.address import address_of

    require_study(services, name)
    files = _invitation_files(name, owners, folder)
    _invite(services, name, files, address_of(services.settings, url))


@on_store()
def remove(
    services: Services,
    name: StudyName,
    owner: Annotated[str, typer.Argument(help="The owner's name.")],
) -> None:
    """Remove an owner: its token and invitations end, and its releases are no longer used.

    `study invite` invites the owner again. Once it has joined, its releases are used again.
    """
    from miner_service.http.endpoints import studies

    with noted(services, "remove_owner", name, 204, f"/owners/{owner}"):
        studies.remove_owner(name, owner, services)
    say(
        f"{owner} was removed from study {name}. Its token and open invitations ended; its"
        " releases, if any, are listed, but not used."
    )


def _invitation_files(study: str, owners: Iterable[str], folder: Path) -> dict[str, Path]:
    from pramana_core.wire.privacy import InvitationCreate

    names = [_message(InvitationCreate, owner=owner).owner for owner in owners]
    files = {owner: folder / f"{study}-{owner}.invitation" for owner in names}
    require_absent(files.values(), "folder")
    return files


def _invite(services: Services, study: str, files: dict[str, Path], url: str) -> None:
    """Invite owners and write their files: all or nothing. Raises Conflict, OptionError."""
    from miner_service.store import owners
    from pramana_core.wire.privacy import InvitationCreate, InvitationFile

    invitations = []
    with ExitStack() as stack, services.audit.room(), services.database.write() as session:
        for owner, file in files.items():
            body, now = InvitationCreate(owner=owner), services.now()
            row, credential = owners.invite(
                session, study=study, owner=owner, hours=body.valid_hours, days=None, now=now
            )
            made = InvitationFile(
                miner=url, study=study, owner=owner, secret=credential.text, expires=row.expires
            )
            stack.enter_context(secret_in(file, made.model_dump_json(indent=2), "folder"))
            invitations.append(made)
        for owner in files:
            note(services, "create_invitation", study, 201, f"/owners/{owner}")
    for made in invitations:
        file, until = files[made.owner], f"{made.expires:%Y-%m-%d %H:%M}"
        say(f"{made.owner}'s invitation is in {file}; it works once, until {until} UTC.")
    if files:
        say(
            "Give each file only to its owner, who runs: owner-agent init TABLE --invitation FILE,"
            " then owner-agent join FILE"
        )


@on_store()
def analyst(
    services: Services,
    name: StudyName,
    analyst: Annotated[str, typer.Option("--name", help="The analyst's name.")] = "analyst",
    access_file: Annotated[
        Path | None,
        typer.Option(
            help="Write an access file for `pramana study` (mode 0600), with the token in it."
        ),
    ] = None,
    replace: ReplaceOption = False,
    url: UrlOption = None,
) -> None:
    """Issue a token with which an analyst runs jobs in a study and reads its models."""
    from miner_service.store.address import address_of
    from pramana_core.wire.privacy import AccessFile

    if access_file is None:
        _issue(services, name, analyst, "analyst", replace)
        return
    require_absent([access_file], "access-file")
    address = address_of(services.settings, url)

    def access(issued: TokenIssued) -> str:
        return AccessFile(
            miner=address, study=name, name=analyst, token=issued.token, expires=issued.expires
        ).model_dump_json(indent=2)

    _issue(services, name, analyst, "analyst", replace, access_file, access)
    say(f"Give this file only to the analyst, who runs: pramana study --access {access_file} show")


@on_store()
def gateway(
    services: Services,
    name: StudyName,
    gateway: Annotated[str, typer.Option("--name", help="The gateway's name.")],
    token_file: Annotated[
        Path | None,
        typer.Option(help="Write the token to this new file (mode 0600) instead of showing it."),
    ] = None,
    replace: ReplaceOption = False,
) -> None:
    """Issue a token with which a gateway can only submit reports of single records."""
    if token_file is not None:
        require_absent([token_file], "token-file")
    _issue(services, name, gateway, "gateway", replace, token_file)


def _issue(
    services: Services,
    study: str,
    holder: str,
    role: str,
    replace: bool,
    file: Path | None = None,
    text: Callable[[TokenIssued], str] = lambda issued: issued.token,
) -> None:
    """Issue a token, end the earlier ones and write the file: all or nothing. Raises NotFound."""
    from miner_service.store.people import find_study
    from miner_service.store.tokens import holders_of, issue_token, issued_message, revoke_tokens
    from pramana_core.wire.privacy import TokenCreate

    _message(TokenCreate, name=holder, role=role)
    part, days = f"/tokens/{holder}", services.settings.tokens.valid_days
    with ExitStack() as stack, services.audit.room(), services.database.write() as session:
        find_study(session, study)
        ended = revoke_tokens(session, role, study, holder) if replace else 0
        if replace and not ended:
            known = did_you_mean([holder], holders_of(session, role, study))
            raise NotFound(
                f"Study {study} has no token of {role} {holder}{known}. Nothing was issued.",
                where="name",
                remedy="Correct --name, or omit --replace.",
            )
        issued = issued_message(
            *issue_token(
                session, role=role, study=study, name=holder, now=services.now(), days=days
            )
        )
        if file is not None:
            option = f"{'access' if role == 'analyst' else 'token'}-file"
            stack.enter_context(secret_in(file, text(issued), option))
        if ended:
            note(services, "revoke_tokens", study, 204, part)
        note(services, "issue_token", study, 201, part)
    until = "" if issued.expires is None else f" (valid until {issued.expires:%Y-%m-%d})"
    words = f"The token of {role} {holder} in study {study}{until}"
    say(where_it_is(words, issued.token, file))
    if replace:
        say(f"{plural(ended, 'earlier token')} ended.")


@on_store()
def list_command(
    services: Services,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")] = False,
) -> None:
    """List all studies with their next steps and who takes them."""
    from miner_service.http.endpoints import studies
    from miner_service.store.paging import Paging
    from pramana_core.wire.base import holding
    from pramana_core.wire.privacy import Study

    found, page = list[Study](), Paging(500, None)
    while True:
        some = studies.list_studies(services, _admin(), page)
        found += some.items
        if some.next is None:
            break
        page = Paging(500, some.next)
    if as_json:
        print_json([study.model_dump(mode="json") for study in found])
        return
    for study in found:
        title = f" ({study.title})" if study.title else ""
        say(f"{study.name}{title}: its owners {holding(study.people)}.")
        for step in study.next:
            say(f"  {step.line}")
    if not found:
        say("No study exists yet. Next: miner-service study create NAME --owners A,B,C")


def _admin() -> Caller:
    from miner_service.http.access.access import Caller
    from miner_service.store.people import ADMIN

    return Caller("", ADMIN, None, "command")


@on_store()
def show(
    services: Services,
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")] = False,
) -> None:
    """Show a study's owners, their releases, the loss of a record, and the next steps."""
    from miner_service.http.endpoints import studies
    from miner_service.http.endpoints.results import study_seen
    from miner_service.store.paging import Paging
    from miner_service.store.people import ANALYST, find_study, find_study_plan

    every, now = Paging(500, None), services.now()
    with services.database.read() as session:
        seen = study_seen(services, session, _admin(), find_study(session, name))
        plan = find_study_plan(session, name)
    joined = {owner.name for owner in seen.owners}
    invited = {
        one.owner: one.expires
        for one in studies.list_invitations(name, services, every).items
        if not one.accepted and one.expires > now and one.owner not in joined
    }
    tokens = studies.list_tokens(name, services, every).items
    valid = (t for t in tokens if not t.revoked and (t.expires is None or t.expires > now))
    more = {
        "plan": None if plan is None else plan.digest,
        "invited": {owner: f"{until:%Y-%m-%d}" for owner, until in invited.items()},
        "analysts": list(dict.fromkeys(t.name for t in valid if t.role == ANALYST)),
    }
    if as_json:
        print_json({**seen.model_dump(mode="json"), **more})
    else:
        _show(seen, more)


def _show(seen: DashboardStudy, more: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pramana_core.rounding import rounded_down, rounded_up
    from pramana_core.wire.base import holding

    study, privacy = seen.study, seen.privacy
    title = f" ({study.title})" if study.title else ""
    say(f"Study {study.name}{title}: its owners {holding(study.people)}.")
    say("It has no study plan." if more["plan"] is None else f"Its plan is {more['plan']}.")
    losses = {owner.owner: owner.determined.to_amplification() for owner in privacy.owners}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("owner", "", "releases", "records", "epsilon"):
        table.add_column(column, justify="left" if column in ("owner", "") else "right")
    for owner in seen.owners:
        sealed = [r for r in seen.releases if r.owner == owner.name and r.state == "sealed"]
        records = f"{max(r.records for r in sealed):,}" if sealed else ""
        loss = f"{rounded_up(losses[owner.name].epsilon)}" if owner.name in losses else ""
        state = "joined" if owner.active else "removed"
        table.add_row(owner.name, state, str(len(sealed) or ""), records, loss)
    for name, until in more["invited"].items():
        table.add_row(name, f"invited until {until}", "", "", "")
    if table.row_count:
        console().print(table)
    limit = privacy.budget.max_epsilon_record
    most = "" if limit is None else f" of at most {rounded_down(limit)}"
    which = " by releases with a bound" if privacy.unbounded else ""
    epsilon = privacy.record.determined.to_amplification().epsilon
    say(f"The loss of a record is epsilon {rounded_up(epsilon)}{most}{which}.")
    for warning in privacy.warnings:
        say(f"warning: {warning}")
    if more["analysts"]:
        say(f"Analysts: {', '.join(more['analysts'])}.")
    if seen.jobs:
        states = Counter(job.state for job in seen.jobs)
        say(f"Jobs: {', '.join(f'{count} {state}' for state, count in states.items())}.")
    for step in study.next:
        say(step.line)


@on_store()
def budget(
    services: Services,
    name: StudyName,
    max_epsilon_record: RecordBudget = None,
    max_epsilon_column: ColumnBudget = None,
    central_epsilon: CentralBudget = None,
    delta: DeltaOption = None,
    records: RecordsOption = None,
) -> None:
    """Change a study's budget; an omitted option means no limit.

    The new budget must cover everything that was released. Later releases must fit it.
    """
    from miner_service.intake.study_privacy import require_budget_covers
    from miner_service.store.people import find_study
    from pramana_core.wire.privacy import BUDGET, StudyCreate

    body = _message(
        StudyCreate,
        name=name,
        max_epsilon_record=max_epsilon_record,
        max_epsilon_column=max_epsilon_column,
        **_central(central_epsilon, delta, records),
    )
    with noted(services, "change_budget", name, 200), services.database.write() as session:
        row = find_study(session, name)
        for limit in BUDGET:
            setattr(row, limit, getattr(body, limit))
        require_budget_covers(session, row)
    say(f"Study {name} was changed{_budget_words(body) or '; it has no budget'}.")


@on_store()
def people(
    services: Services,
    name: StudyName,
    people: Annotated[str, typer.Argument(help="`same`, `different` or `overlapping`.")],
) -> None:
    """Correct whether a study's owners have the same people; owners see the new value."""
    from miner_service.intake.study_privacy import require_budget_covers
    from miner_service.store.people import find_study
    from pramana_core.wire.base import holding
    from pramana_core.wire.privacy import StudyCreate

    body = _message(StudyCreate, name=name, people=people)
    with noted(services, "change_people", name, 200), services.database.write() as session:
        find_study(session, name).people = body.people
    say(f"Study {name} was changed; its owners {holding(body.people)}.")
    try:  # a correction is stored even if the true losses exceed the budget
        with services.database.read() as session:
            require_budget_covers(session, find_study(session, name))
    except BudgetExceeded as error:
        say(f"warning: {error}")


@on_store(files=True)
def delete(
    services: Services,
    name: StudyName,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm the deletion.")] = False,
) -> None:
    """Delete a study permanently, with its records, models, owners and tokens.

    Its name remains in the audit log; backups are unchanged.
    """
    from miner_service.checking import delete_study

    if not yes:
        raise OptionError(
            f"This would permanently delete the study {name} with all its data.",
            where="yes",
            remedy="Confirm with --yes.",
        )
    with noted(services, "delete_study", name, 204):
        releases, erased = delete_study(services, name)
    later = "" if erased else " Its rows stay in the database's log until current readers end."
    say(f"The study {name} was deleted, with {releases} releases.{later}")


def _central(epsilon: float | None, delta: float | None, records: int | None) -> dict[str, Any]:
    """Return the fields of a central budget from its options. Raises OptionError."""
    if (epsilon is None) != (records is None) or (epsilon is None and delta is not None):
        raise OptionError(
            "A central budget needs --central-epsilon and --records.",
            where="central_epsilon",
            remedy="Give both, such as --central-epsilon 1 --records 10000.",
        )
    given = {"max_central_epsilon": epsilon, "central_records": records, "central_delta": delta}
    return {name: value for name, value in given.items() if value is not None}


def _message(message: type[MessageT], **given: Any) -> MessageT:
    """Return a message with the given options as fields. Raises OptionError."""
    from pydantic import ValidationError

    try:
        return message.model_validate(given)
    except ValidationError as error:
        wrong = error.errors()[0]
        where = str(wrong["loc"][0])
        raise OptionError(
            f"The {where.replace('_', ' ')} {given[where]!r} is invalid: {wrong['msg']}.",
            where=where,
            remedy=_REMEDIES.get(where, _NAMED),
        ) from None


def _budget_words(study: StudyCreate) -> str:
    limits = {"record": study.max_epsilon_record, "column": study.max_epsilon_column}
    parts = [f"epsilon {most:g} per {what}" for what, most in limits.items() if most is not None]
    if study.max_central_epsilon is not None:
        parts.append(
            f"a central epsilon of {study.max_central_epsilon:g} at delta {study.central_delta:g}"
            f" among {study.central_records:,} records"
        )
    return f"; its budget is {' and '.join(parts)}" if parts else ""

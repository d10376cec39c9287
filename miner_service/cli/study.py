"""The `study` commands: create a study, invite owners, issue tokens, agree on a plan, show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miner_service.cli.handing_over import (
    address_of,
    removed_after_errors,
    require_absent,
    where_it_is,
    write_secret,
)
from miner_service.cli.opening import note, on_store, say
from miner_service.cli.study_plan import (
    StudyName,
    agree_on,
    read_plan,
    require_fitting,
    study_plan_commands,
)
from pramana_core.errors import OptionError
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from miner_service.services import Services
    from pramana_core.wire.privacy import StudyCreate, StudyPrivacy

_INVITED_HOURS = 24 * 7

_NAME_REMEDY = "A name has letters, digits and . _ -, at most 64, a letter or digit first."
_BUDGET_REMEDY = "A budget is a positive number, usually between 1 and 10."
_OPTIONS = {
    "name": ("NAME", _NAME_REMEDY),
    "title": ("--title", "Give a shorter title."),
    "max_epsilon_record": ("--max-epsilon-record", _BUDGET_REMEDY),
    "max_epsilon_column": ("--max-epsilon-column", _BUDGET_REMEDY),
    "people": ("--people", "The people are the same, different, or overlapping."),
}

UrlOption = Annotated[
    str | None,
    typer.Option(
        help="The address at which people reach the miner, if it is another than that of `serve`."
    ),
]
FolderOption = Annotated[Path, typer.Option(help="The folder of the invitations' files.")]
AccessFile = Annotated[
    Path | None,
    typer.Option(
        help="Write miner, study and an analyst's token here (mode 0600), as `pramana study` reads"
        " them."
    ),
]
TokenFile = Annotated[
    Path | None, typer.Option(help="Write the token here (mode 0600) instead of showing it.")
]
RecordBudget = Annotated[
    float | None,
    typer.Option(
        "--max-epsilon-record",
        help="The largest epsilon of a record over all owners, if its columns determine each"
        " other.",
    ),
]
ColumnBudget = Annotated[
    float | None,
    typer.Option("--max-epsilon-column", help="The largest epsilon of a column by its own draws."),
]
PeopleOption = Annotated[
    str,
    typer.Option(
        help="Whose records the owners hold: `same` people, `different` ones, or `overlapping`"
        " (some may be the same). Only of different people do the owners' losses not add up.",
    ),
]


def study_commands() -> typer.Typer:
    """Return the commands about studies."""
    app = typer.Typer(help="Open studies, also while the service runs.", no_args_is_help=True)
    for command in (create, invite, analyst, gateway, show, budget, people, delete):
        app.command()(command)
    app.add_typer(study_plan_commands(), name="plan")
    return app


@on_store()
def create(
    services: Services,
    name: Annotated[str, typer.Argument(help="Letters, digits and . _ -, at most 64.")],
    title: Annotated[str, typer.Option(help="The title that people read.")] = "",
    max_epsilon_record: RecordBudget = None,
    max_epsilon_column: ColumnBudget = None,
    people: PeopleOption = "overlapping",
    owners: Annotated[
        str, typer.Option(metavar="A,B,C", help="Owners to invite; each gets a file of her own.")
    ] = "",
    plan: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The plan that its owners designed together, as `owner-agent design` wrote it.",
        ),
    ] = None,
    access_file: AccessFile = None,
    url: UrlOption = None,
    folder: FolderOption = Path(),
) -> None:
    """Open a study, invite its owners and give it their plan; releases beyond it are refused."""
    from miner_service.intake.agreement import require_unopposed
    from miner_service.store.people import create_study
    from pramana_core.wire.base import holding

    body = _study_of(
        name=name,
        title=title,
        max_epsilon_record=max_epsilon_record,
        max_epsilon_column=max_epsilon_column,
        people=people,
    )
    names = [owner.strip() for owner in owners.split(",") if owner.strip()]
    files = _invitation_files(name, names, folder)
    access = [access_file] if access_file is not None else []
    require_absent(access, "access-file")
    message = None if plan is None else read_plan(plan)
    address = address_of(services.settings, url) if names or access else ""
    if message is not None:
        require_fitting(services, message, body, names)
    with services.audit.room(), services.database.write() as session:
        _, new = create_study(session, body, services.now())
        note(services, "create_study", name, 201 if new else 200)
    if message is not None:
        require_unopposed(services, name, message)
    say(
        f"Study {name} {'is open' if new else 'was there'}{_budget_words(body)}."
        f" Its owners {holding(body.people)}."
    )
    _invite(services, name, files, address)
    if message is not None:
        agree_on(services, name, message)
    for file in access:
        _grant_access(services, name, "analyst", address, file)


@on_store()
def invite(
    services: Services,
    name: StudyName,
    owners: Annotated[list[str], typer.Argument(metavar="OWNER...", help="Names of owners.")],
    url: UrlOption = None,
    folder: FolderOption = Path(),
) -> None:
    """Invite owners into a study: a file for each, which she alone should get.

    The secret in it works once, within a week. `owner-agent join FILE` accepts it.
    """
    files = _invitation_files(name, owners, folder)
    _invite(services, name, files, address_of(services.settings, url))


def _invitation_files(study: str, owners: Sequence[str], folder: Path) -> dict[str, Path]:
    """Return the file of each owner's invitation. Raises OptionError: a bad name, or it exists."""
    _require_names(owners)
    files = {owner: folder / f"{study}-{owner}.invitation" for owner in owners}
    require_absent(list(files.values()), "folder")
    return files


def _require_names(names: Sequence[str]) -> None:
    from pydantic import TypeAdapter, ValidationError

    from pramana_core.wire.base import Name

    known: TypeAdapter[str] = TypeAdapter(Name)
    for name in names:
        try:
            known.validate_python(name)
        except ValidationError:
            raise OptionError(
                f"{name!r} is no name; nothing was issued.", where="owners", remedy=_NAME_REMEDY
            ) from None
    if len(set(names)) < len(names):
        raise OptionError("An owner is named twice; nothing was issued.", where="owners")


def _invite(services: Services, study: str, files: dict[str, Path], url: str) -> None:
    """Invite owners and write their files, all or none. Raises OptionError, Conflict, NotFound."""
    from miner_service.store.owners import invite as invite_owner
    from miner_service.store.people import find_study
    from pramana_core.wire.privacy import InvitationFile

    lines = []
    with (
        removed_after_errors(list(files.values())),
        services.audit.room(),
        services.database.write() as session,
    ):
        find_study(session, study)
        for owner, file in files.items():
            row, credential = invite_owner(
                session,
                study=study,
                owner=owner,
                hours=_INVITED_HOURS,
                days=None,
                now=services.now(),
            )
            invitation = InvitationFile(
                miner=url, study=study, owner=owner, secret=credential.text, expires=row.expires
            )
            write_secret(file, invitation.model_dump_json(indent=2))
            note(services, "create_invitation", study, 201)
            until = f"{row.expires:%Y-%m-%d %H:%M}"
            lines.append(f"{owner}'s invitation is {file}; it works once, until {until} UTC.")
    if lines:
        lines.append("Give each owner hers and nobody else's; she runs: owner-agent join FILE")
    for line in lines:
        say(line)


@on_store()
def analyst(
    services: Services,
    name: StudyName,
    analyst: Annotated[str, typer.Option("--name", help="Whose token it is.")] = "analyst",
    access_file: AccessFile = None,
    url: UrlOption = None,
) -> None:
    """Issue a token by which an analyst runs jobs in a study and reads its models."""
    from miner_service.store.people import ANALYST

    _require_names([analyst])
    if access_file is None:
        _issue(services, name, analyst, ANALYST, None)
        return
    require_absent([access_file], "access-file")
    _grant_access(services, name, analyst, address_of(services.settings, url), access_file)


@on_store()
def gateway(
    services: Services,
    name: StudyName,
    gateway: Annotated[str, typer.Option("--name", help="What the gateway is called.")],
    token_file: TokenFile = None,
) -> None:
    """Issue a token by which a gateway brings reports of single records, and sees nothing else."""
    from miner_service.store.people import GATEWAY

    _require_names([gateway])
    _issue(services, name, gateway, GATEWAY, token_file)


def _issue(services: Services, study: str, holder: str, role: str, file: Path | None) -> None:
    """Issue a token and show it, or write it into a file."""
    with services.audit.room(), services.database.write() as session:
        secret, until = _new_token(services, session, study, holder, role)
        if file is not None:
            write_secret(file, secret)
    what = f"The token of {role} {holder} in study {study}, valid until {until:%Y-%m-%d}"
    say(where_it_is(what, secret, file))


def _grant_access(services: Services, study: str, analyst: str, url: str, file: Path) -> None:
    """Issue an analyst's token into an access file."""
    from miner_service.store.people import ANALYST
    from pramana_core.wire.privacy import AccessFile as Access

    with services.audit.room(), services.database.write() as session:
        secret, until = _new_token(services, session, study, analyst, ANALYST)
        access = Access(miner=url, study=study, name=analyst, token=secret, expires=until)
        write_secret(file, access.model_dump_json(indent=2))
    say(f"The token of {analyst} in study {study}, valid until {until:%Y-%m-%d}, is in {file}")
    say(f"Next, for the analyst alone: pramana study --access {file} show")


def _new_token(
    services: Services, session: Any, study: str, holder: str, role: str
) -> tuple[str, datetime]:
    from datetime import timedelta

    from miner_service.store.people import find_study
    from miner_service.store.tokens import issue_token

    find_study(session, study)
    now, days = services.now(), services.settings.tokens.valid_days
    _, credential = issue_token(session, role=role, study=study, name=holder, now=now, days=days)
    note(services, "issue_token", study, 201)
    return credential.text, now + timedelta(days=days)


@on_store()
def show(
    services: Services,
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")] = False,
) -> None:
    """Show a study's owners, their releases, the loss of a record, and the next steps."""
    from sqlalchemy import select

    from miner_service.http.endpoints import studies
    from miner_service.intake.study_privacy import study_privacy
    from miner_service.store.database import Paging
    from miner_service.store.people import ANALYST, find_study_plan
    from miner_service.store.schema import JobRow

    every = Paging(500, None)
    study = studies.read_study(name, services)
    now, tokens = services.now(), studies.list_tokens(name, services, every).items
    with services.database.read() as session:
        plan = find_study_plan(session, name)
        privacy = study_privacy(services, session, name, shown_to_owner=None)
        jobs = Counter(session.scalars(select(JobRow.state).where(JobRow.study == name)))
        owners = list(_owners(services, session, name))
    valid = [
        token.name
        for token in tokens
        if token.role == ANALYST
        and not token.revoked
        and (token.expires is None or token.expires > now)
    ]
    answer = {
        **study.model_dump(mode="json"),
        "plan": None if plan is None else plan.digest,
        "owners": owners,
        "analysts": list(dict.fromkeys(valid)),
        "jobs": dict(jobs),
    }
    if as_json:
        print_json({**answer, "privacy": privacy.model_dump(mode="json")})
    else:
        _show(answer, privacy)


def _owners(services: Services, session: Any, study: str) -> Iterator[dict[str, Any]]:
    """Yield the owners, and those invited who have not joined."""
    from miner_service.http.endpoints import studies
    from miner_service.store.database import Paging
    from miner_service.store.releases import releases_of

    every, joined = Paging(500, None), set[str]()
    for owner in studies.list_owners(study, services, every).items:
        sealed = [r for r in releases_of(session, study, owner.name) if r.state == "sealed"]
        joined.add(owner.name)
        yield {
            "name": owner.name,
            "state": "joined" if owner.active else "removed",
            "since": owner.joined.isoformat(),
            "releases": [{"id": r.id, "kind": r.kind, "records": r.records} for r in sealed],
        }
    for one in studies.list_invitations(study, services, every).items:
        if one.owner not in joined and not one.accepted and one.expires > services.now():
            joined.add(one.owner)
            until = one.expires.isoformat()
            yield {"name": one.owner, "state": "invited", "until": until, "releases": []}


def _show(answer: dict[str, Any], privacy: StudyPrivacy) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pramana_core.wire.base import holding

    name, digest = answer["name"], answer["plan"]
    title = f" ({answer['title']})" if answer["title"] else ""
    say(f"Study {name}{title}: its owners {holding(answer['people'])}.")
    say("It has no plan of its own." if digest is None else f"Its plan is {digest}.")
    losses = {owner.owner: owner.determined.to_amplification() for owner in privacy.owners}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("owner", "", "releases", "records", "epsilon"):
        table.add_column(column, justify="left" if column in ("owner", "") else "right")
    for owner in answer["owners"]:
        until = f" until {owner['until'][:10]}" if "until" in owner else ""
        releases = owner["releases"]
        records = f"{max(r['records'] for r in releases):,}" if releases else ""
        loss = f"{losses[owner['name']].epsilon:.4g}" if owner["name"] in losses else ""
        state = owner["state"] + until
        table.add_row(owner["name"], state, str(len(releases) or ""), records, loss)
    if answer["owners"]:
        console().print(table)
    record = privacy.record.determined.to_amplification()
    limit = answer["max_epsilon_record"]
    most = "" if limit is None else f" of at most {limit:g}"
    which = " by releases with a bound" if privacy.unbounded else ""
    say(f"The loss of a record is epsilon {record.epsilon:.4g}{most}{which}.")
    if privacy.unbounded:
        say("Other releases carry no gamma: nothing bounds their loss of a record.")
    for warning in privacy.warnings:
        say(f"warning: {warning}")
    if answer["analysts"]:
        say(f"Analysts: {', '.join(answer['analysts'])}.")
    if answer["jobs"]:
        say(f"Jobs: {', '.join(f'{count} {state}' for state, count in answer['jobs'].items())}.")
    if not answer["owners"]:
        say(f"Next: miner-service study invite {name} OWNER...")
    if digest is None and answer["people"] == "same":
        say(f"Next: miner-service study plan set {name} FILE")
    if not answer["analysts"]:
        say(f"Next: miner-service study analyst {name} --access-file FILE")


@on_store()
def budget(
    services: Services,
    name: StudyName,
    max_epsilon_record: RecordBudget = None,
    max_epsilon_column: ColumnBudget = None,
) -> None:
    """Give a study another budget; an option left out means no limit. Nothing is called back."""
    from miner_service.store.people import change_budget

    body = _study_of(
        name=name, max_epsilon_record=max_epsilon_record, max_epsilon_column=max_epsilon_column
    )
    with services.audit.room(), services.database.write() as session:
        change_budget(session, body)
        note(services, "change_budget", name, 200)
    say(f"Study {name} is changed{_budget_words(body) or '; it has no budget'}.")


@on_store()
def people(
    services: Services,
    name: StudyName,
    people: Annotated[str, typer.Argument(help="same, different or overlapping.")],
) -> None:
    """Correct whether a study's owners hold the same people; owners see it from then on."""
    from miner_service.store.people import change_people
    from pramana_core.wire.base import holding

    body = _study_of(name=name, people=people)
    with services.audit.room(), services.database.write() as session:
        change_people(session, name, body.people)
        note(services, "change_people", name, 200)
    say(f"Study {name} is changed; its owners {holding(body.people)}.")


@on_store(files=True)
def delete(
    services: Services,
    name: StudyName,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, for good.")] = False,
) -> None:
    """Delete a study with all its records, models, owners and tokens, for good.

    Its name stays in the audit log, and backups are unchanged.
    """
    from miner_service.checking import delete_study

    if not yes:
        raise OptionError(
            f"The study {name} would be deleted for good, with everything in it.",
            where="yes",
            remedy="Give --yes to delete it.",
        )
    with services.audit.room():
        releases, erased = delete_study(services, name)
        note(services, "delete_study", name, 204)
    later = "" if erased else " Its rows leave the database's log once nobody reads them."
    say(f"The study {name} is deleted, with {releases} releases.{later}")


def _study_of(**given: Any) -> StudyCreate:
    """Return a study as the options describe it. Raises OptionError."""
    from pydantic import ValidationError

    from pramana_core.wire.privacy import StudyCreate

    try:
        return StudyCreate.model_validate(given)
    except ValidationError as error:
        wrong = {str(e["loc"][0]): e["msg"] for e in error.errors()}
        raise OptionError(
            "; ".join(f"{_OPTIONS[name][0]} is wrong: {why}" for name, why in wrong.items()) + ".",
            where=next(iter(wrong)),
            remedy=" ".join(dict.fromkeys(_OPTIONS[name][1] for name in wrong)),
        ) from None


def _budget_words(study: StudyCreate) -> str:
    limits = {"record": study.max_epsilon_record, "column": study.max_epsilon_column}
    parts = [f"epsilon {most:g} of a {what}" for what, most in limits.items() if most is not None]
    return f"; its budget is {' and '.join(parts)}" if parts else ""

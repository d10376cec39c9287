"""`miner-service study invite`, `analyst`, `gateway` and `show`: who takes part, and how it is."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from miner_service.cli.operations import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    SettingsFile,
    existing,
    note,
    settings_of,
    write_secret,
)
from pramana_core.errors import OptionError
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from miner_service.services import Services
    from miner_service.settings import Settings
    from pramana_core.wire.privacy import InvitationFile, StudyPrivacy

UrlOption = Annotated[
    str | None,
    typer.Option(
        help="The address at which people reach the miner, if it is another than that of `serve`."
    ),
]
FolderOption = Annotated[Path, typer.Option(help="The folder of the invitations' files.")]
HoursOption = Annotated[
    int, typer.Option(min=1, max=24 * 90, help="For how many hours invitations are good.")
]
StudyName = Annotated[str, typer.Argument(help="The study.")]


def invite(
    name: StudyName,
    owners: Annotated[list[str], typer.Argument(metavar="OWNER...", help="Names of owners.")],
    url: UrlOption = None,
    folder: FolderOption = Path(),
    valid_hours: HoursOption = 24 * 7,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Invite owners into a study: a file for each, which she alone should get.

    The secret in it is good once. `owner-agent join FILE` takes it up.
    """
    from miner_service.store.people import find_study

    files = invitation_files(name, owners, folder)
    wanted = settings_of(data, database, settings)
    with existing(wanted) as services:
        address = address_named(wanted, url)
        with services.database.read() as session:
            find_study(session, name)
        made = invited(services, name, files, address, valid_hours)
    show_invitations(made)


def analyst(
    name: StudyName,
    analyst: Annotated[str, typer.Option("--name", help="Whose token it is.")] = "analyst",
    token_file: Annotated[
        Path | None, typer.Option(help="Write the token here (mode 0600) instead of showing it.")
    ] = None,
    access_file: Annotated[
        Path | None,
        typer.Option(
            help="Write miner, study and token here (mode 0600), as `pramana study` reads them."
        ),
    ] = None,
    url: UrlOption = None,
    valid_days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="For how many days; a year if left out.")
    ] = None,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Issue a token by which an analyst runs jobs in a study and reads its models."""
    if token_file is not None and access_file is not None:
        raise OptionError("Give --token-file or --access-file, not both.", where="token-file")
    _require_names([analyst])
    if access_file is not None:
        require_absent(access_file)
    wanted = settings_of(data, database, settings)
    with existing(wanted) as services:
        if access_file is not None:
            address = address_named(wanted, url)
            until = grant_access(services, name, analyst, address, access_file, valid_days)
        else:
            with _issued(services, name, analyst, valid_days) as (secret, until):
                if token_file is not None:
                    write_secret(token_file, secret)
    if access_file is not None:
        show_access(name, analyst, access_file, until)
        return
    sentence = f"The token of {analyst} in study {name}{_good_until(until)}"
    _say(
        f"{sentence} is in {token_file}"
        if token_file
        else f"{sentence}, shown only this once: {secret}"
    )


def gateway(
    name: StudyName,
    gateway: Annotated[str, typer.Option("--name", help="What the gateway is called.")],
    token_file: Annotated[
        Path | None, typer.Option(help="Write the token here (mode 0600) instead of showing it.")
    ] = None,
    valid_days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="For how many days; a year if left out.")
    ] = None,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Issue a token by which a gateway brings reports of single records, and sees nothing else."""
    from miner_service.store.people import GATEWAY

    _require_names([gateway])
    with (
        existing(settings_of(data, database, settings)) as services,
        _issued(services, name, gateway, valid_days, GATEWAY) as (secret, until),
    ):
        if token_file is not None:
            write_secret(token_file, secret)
    sentence = f"The token of gateway {gateway} in study {name}{_good_until(until)}"
    _say(
        f"{sentence} is in {token_file}"
        if token_file
        else f"{sentence}, shown only this once: {secret}"
    )


@contextmanager
def _issued(
    services: Services, study: str, holder: str, days: int | None, role: str | None = None
) -> Iterator[tuple[str, datetime | None]]:
    """Issue a token, an analyst's if no `role` is given, and say until when it is good."""
    from miner_service.store import people
    from miner_service.store.tokens import issue_token

    with services.audit.room(), services.database.write() as session:
        people.find_study(session, study)
        row, credential = issue_token(
            session,
            role=role or people.ANALYST,
            study=study,
            name=holder,
            now=services.now(),
            days=days or services.settings.tokens.valid_days,
        )
        yield credential.text, row.expires
        note(services, "issue_token", study, 201)


def grant_access(
    services: Services, study: str, analyst: str, url: str, file: Path, days: int | None = None
) -> datetime | None:
    """Issue an analyst's token into an access file; return until when it is good.

    Raises:
        OptionError: the file cannot be written; nothing was issued.
        NotFound: there is no such study.
    """
    from pramana_core.wire.privacy import AccessFile

    with _issued(services, study, analyst, days) as (secret, until):
        access = AccessFile(miner=url, study=study, name=analyst, token=secret, expires=until)
        write_secret(file, access.model_dump_json(indent=2))
    return until


def show_access(study: str, analyst: str, file: Path, until: datetime | None) -> None:
    """Say where an analyst's access is, and what she does with it."""
    _say(f"The token of {analyst} in study {study}{_good_until(until)} is in {file}")
    _say(f"Next, for the analyst alone: pramana study --access {file} show")


def require_absent(file: Path) -> None:
    """Refuse to write over an access file of something else. Raises OptionError."""
    if file.exists():
        raise OptionError(
            f"{file} exists; nothing was made.",
            where="access-file",
            remedy="Remove it if it is to be replaced, or name another file.",
        )


def _good_until(until: datetime | None) -> str:
    return "" if until is None else f", good until {until:%Y-%m-%d}"


def show(
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")] = False,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Say who is in a study, what each released, what that tells of a record, and what is next."""
    from miner_service.intake.study_privacy import study_privacy
    from miner_service.store.people import find_study, find_study_plan, study_message

    with (
        existing(settings_of(data, database, settings)) as services,
        services.database.read() as session,
    ):
        study = study_message(find_study(session, name))
        plan = find_study_plan(session, name)
        owners = list(_owners(services, session, name))
        privacy = study_privacy(services, session, name, shown_to_owner=None)
        answer = {
            **study.model_dump(mode="json"),
            "plan": None if plan is None else plan.digest,
            "owners": owners,
            "analysts": _analysts(session, name, services.now()),
            "jobs": _jobs(session, name),
        }
    if as_json:
        print_json({**answer, "privacy": privacy.model_dump(mode="json")})
    else:
        _show(answer, privacy)


_ADDRESS = "address"
"""The file in the data directory with the address at which the service was last reached."""


def write_address(settings: Settings, url: str) -> None:
    """Write down the address that invitations name: `public_url`, or the one listened on.

    An address that stands for every interface is nobody's to be reached at.
    """
    from miner_service.store.durable import storing

    file = settings.data_dir / _ADDRESS
    known = settings.web.public_url
    if known is None and not _is_unspecified(url):
        known = url
    if known is None:
        file.unlink(missing_ok=True)
    else:
        with storing("The address of the service"):
            file.write_text(f"{known}\n", encoding="utf-8")


def _is_unspecified(url: str) -> bool:
    return ipaddress.ip_address(urlsplit(url).hostname or "").is_unspecified


def address_of(settings: Settings) -> str:
    """Return the address that invitations name. Raises OptionError: it is not known."""
    if settings.web.public_url is not None:
        return settings.web.public_url
    try:
        return (settings.data_dir / _ADDRESS).read_text(encoding="utf-8").strip()
    except OSError:
        raise OptionError(
            "The address at which people reach this miner is not known.",
            where="url",
            remedy="Give --url here, or --public-url to `miner-service serve`.",
        ) from None


def address_named(settings: Settings, url: str | None) -> str:
    """Return the address that invitations and access files name. Raises OptionError."""
    from miner_service.settings import require_public_address

    if url is None:
        return address_of(settings)
    require_public_address(url, "url")
    return url


def invitation_files(study: str, owners: Sequence[str], folder: Path) -> dict[str, Path]:
    """Return the file of each owner's invitation, after looking at names and folder.

    Raises:
        OptionError: a name is none, or a file is there already.
    """
    _require_names(owners)
    files = {owner: folder / f"{study}-{owner}.invitation" for owner in owners}
    for file in files.values():
        if file.exists():
            raise OptionError(
                f"{file} exists; nothing was issued.",
                where="folder",
                remedy="Remove it if it is to be replaced, or name another --folder.",
            )
    return files


def invited(
    services: Services, study: str, files: Mapping[str, Path], url: str, hours: int
) -> list[tuple[Path, InvitationFile]]:
    """Invite owners and write their files, all or none.

    Raises:
        OptionError: a file cannot be written.
        Conflict: an owner has joined before.
    """
    from miner_service.store.tokens import invite as invite_owner
    from pramana_core.wire.privacy import InvitationFile

    made: list[tuple[Path, InvitationFile]] = []
    with (
        _removed_if_not_issued(list(files.values())),
        services.audit.room(),
        services.database.write() as session,
    ):
        for owner, file in files.items():
            row, credential = invite_owner(
                session, study=study, owner=owner, hours=hours, days=None, now=services.now()
            )
            invitation = InvitationFile(
                miner=url, study=study, owner=owner, secret=credential.text, expires=row.expires
            )
            write_secret(file, invitation.model_dump_json(indent=2))
            note(services, "create_invitation", study, 201)
            made.append((file, invitation))
    return made


def show_invitations(made: Sequence[tuple[Path, InvitationFile]]) -> None:
    """Print where the invitations are, and what their owners do with them."""
    for file, invitation in made:
        _say(
            f"{invitation.owner}'s invitation is {file}, good once and until"
            f" {invitation.expires:%Y-%m-%d %H:%M} UTC."
        )
    if made:
        _say("Give each owner hers and nobody else's; she runs: owner-agent join FILE")


@contextmanager
def _removed_if_not_issued(files: Sequence[Path]) -> Iterator[None]:
    """Leave no file behind whose secret is not good."""
    try:
        yield
    except BaseException:
        for file in files:
            file.unlink(missing_ok=True)
        raise


def _require_names(names: Sequence[str]) -> None:
    from pydantic import TypeAdapter, ValidationError

    from pramana_core.wire.base import Name

    known: TypeAdapter[str] = TypeAdapter(Name)
    for name in names:
        try:
            known.validate_python(name)
        except ValidationError:
            raise OptionError(
                f"{name!r} is no name; nothing was issued.",
                where="owners",
                remedy="A name has letters, digits and . _ -, at most 64, a letter or digit first.",
            ) from None
    if len(set(names)) < len(names):
        raise OptionError("An owner is named twice; nothing was issued.", where="owners")


def _owners(services: Services, session: Session, study: str) -> Iterator[dict[str, Any]]:
    """Yield the owners, and who is invited and has not come."""
    from sqlalchemy import select

    from miner_service.store.releases import releases_of
    from miner_service.store.schema import InvitationRow, OwnerRow

    known: set[str] = set()
    query = select(OwnerRow).where(OwnerRow.study == study).order_by(OwnerRow.seq)
    for row in session.scalars(query):
        sealed = [r for r in releases_of(session, study, row.name) if r.state == "sealed"]
        known.add(row.name)
        yield {
            "name": row.name,
            "state": "joined" if row.active else "removed",
            "since": row.joined.isoformat(),
            "releases": [{"id": r.id, "kind": r.kind, "records": r.records} for r in sealed],
        }
    waiting = select(InvitationRow).where(
        InvitationRow.study == study,
        InvitationRow.accepted.is_(None),
        InvitationRow.expires > services.now(),
    )
    for invitation in session.scalars(waiting.order_by(InvitationRow.seq)):
        if invitation.owner not in known:
            known.add(invitation.owner)
            until = invitation.expires.isoformat()
            yield {"name": invitation.owner, "state": "invited", "until": until, "releases": []}


def _analysts(session: Session, study: str, now: datetime) -> list[str]:
    """Return whose tokens are good."""
    from sqlalchemy import or_, select

    from miner_service.store.people import ANALYST
    from miner_service.store.schema import TokenRow

    query = select(TokenRow.name).where(
        TokenRow.study == study,
        TokenRow.role == ANALYST,
        TokenRow.revoked.is_(False),
        or_(TokenRow.expires.is_(None), TokenRow.expires > now),
    )
    return list(dict.fromkeys(session.scalars(query.order_by(TokenRow.seq))))


def _jobs(session: Session, study: str) -> dict[str, int]:
    """Return how many jobs there are in each state."""
    from sqlalchemy import func, select

    from miner_service.store.schema import JobRow

    query = select(JobRow.state, func.count()).where(JobRow.study == study).group_by(JobRow.state)
    return {row[0]: row[1] for row in session.execute(query)}


def _show(answer: dict[str, Any], privacy: StudyPrivacy) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pramana_core.wire.base import holding

    name = answer["name"]
    title = f" ({answer['title']})" if answer["title"] else ""
    _say(f"Study {name}{title}: its owners {holding(answer['people'])}.")
    digest = answer["plan"]
    _say("It has no plan of its own." if digest is None else f"Its plan is {digest}.")
    own = {owner.owner: owner.determined.to_amplification() for owner in privacy.owners}
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("owner", "", "releases", "records", "epsilon told"):
        table.add_column(column, justify="left" if column in ("owner", "") else "right")
    for owner in answer["owners"]:
        state = owner["state"]
        if state == "invited":
            state += f" until {owner['until'][:10]}"
        releases = owner["releases"]
        records = f"{max(r['records'] for r in releases):,}" if releases else ""
        lost = f"{own[owner['name']].epsilon:.4g}" if owner["name"] in own else ""
        table.add_row(owner["name"], state, str(len(releases) or ""), records, lost)
    if answer["owners"]:
        console().print(table)
    record = privacy.record.determined.to_amplification()
    limit = answer["max_epsilon_record"]
    budget = "" if limit is None else f" of {limit:g} that may be told"
    which = " by what has a bound" if privacy.unbounded else ""
    _say(
        f"Of a record epsilon {record.epsilon:.4g}{budget} is told{which}"
        f" (gamma {record.written_gamma})."
    )
    if privacy.unbounded:
        _say("Other releases carry no gamma: nothing bounds what they tell of a record.")
    for warning in privacy.warnings:
        _say(f"warning: {warning}")
    if answer["analysts"]:
        _say(f"Analysts: {', '.join(answer['analysts'])}.")
    if answer["jobs"]:
        _say(f"Jobs: {', '.join(f'{count} {state}' for state, count in answer['jobs'].items())}.")
    for step in _next(answer):
        _say(f"Next: {step}")


def _next(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the commands that bring a study further."""
    name = answer["name"]
    if not answer["owners"]:
        yield f"miner-service study invite {name} OWNER..."
    if answer["plan"] is None and answer["people"] == "same":
        yield f"miner-service study plan set {name} FILE"
    if not answer["analysts"]:
        yield f"miner-service study analyst {name} --access-file FILE"


def _say(text: str) -> None:
    console().print(text, markup=False, soft_wrap=True)

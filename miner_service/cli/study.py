"""The command `miner-service study`: studies opened where the miner's data are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from miner_service.cli import members
from miner_service.cli.operations import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    SettingsFile,
    existing,
    note,
    settings_of,
)
from miner_service.cli.study_plan import (
    agree_on,
    read_plan,
    require_fitting,
    show_agreed,
    study_plan_commands,
)
from pramana_core.errors import OptionError
from pramana_core.terminal import console

if TYPE_CHECKING:
    from pramana_core.wire.privacy import StudyCreate

_FLAGS = {
    "name": "NAME",
    "title": "--title",
    "max_epsilon_record": "--max-epsilon-record",
    "max_epsilon_column": "--max-epsilon-column",
    "people": "--people",
}


_BUDGET_REMEDY = "A budget is a positive number, usually between 1 and 10."
_REMEDIES = {
    "name": "A name has letters, digits and . _ -, at most 64, a letter or digit first.",
    "title": "Give a shorter title.",
    "max_epsilon_record": _BUDGET_REMEDY,
    "max_epsilon_column": _BUDGET_REMEDY,
    "people": "The owners hold the same people, different ones, or overlapping sets of people.",
}


def study_commands() -> typer.Typer:
    """Return the commands about studies."""
    app = typer.Typer(help="Open studies, also while the service runs.", no_args_is_help=True)
    app.command()(create)
    app.command()(members.invite)
    app.command()(members.analyst)
    app.command()(members.gateway)
    app.command()(members.show)
    app.command()(budget)
    app.command()(people)
    app.command()(delete)
    app.add_typer(study_plan_commands(), name="plan")
    return app


RecordBudget = Annotated[
    float | None,
    typer.Option(
        "--max-epsilon-record",
        help="The most epsilon that all owners together may tell of a record, if its columns"
        " determine each other.",
    ),
]
ColumnBudget = Annotated[
    float | None,
    typer.Option(
        "--max-epsilon-column",
        help="The most epsilon that a column may be told of by its own draws.",
    ),
]


PeopleOption = Annotated[
    str,
    typer.Option(
        help="Whose records the owners hold: `same` people, `different` ones, or `overlapping`"
        " (some may be the same). Only of different people do the owners' losses not add up.",
    ),
]


def create(
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
    access_file: Annotated[
        Path | None,
        typer.Option(
            help="Issue a token for an analyst, too, and write miner, study and token here (mode"
            " 0600), as `pramana study` reads them.",
        ),
    ] = None,
    url: members.UrlOption = members.THIS_MACHINE,
    folder: members.FolderOption = Path(),
    valid_hours: members.HoursOption = 24 * 7,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Open a study, invite its owners and give it their plan; what goes beyond it is refused."""
    from miner_service.intake.agreement import require_unopposed
    from miner_service.store.people import create_study
    from pramana_core.wire.base import holding

    wanted = _wanted(
        name=name,
        title=title,
        max_epsilon_record=max_epsilon_record,
        max_epsilon_column=max_epsilon_column,
        people=people,
    )
    names = [owner.strip() for owner in owners.split(",") if owner.strip()]
    files = members.invitation_files(name, names, url, folder)
    if access_file is not None:
        members.require_absent(access_file)
    message = None if plan is None else read_plan(plan)
    with existing(settings_of(data, database, settings)) as services:
        if message is not None:
            require_fitting(services, message, wanted, names)
        with services.audit.room(), services.database.write() as session:
            _, new = create_study(session, wanted, services.now())
            note(services, "create_study", name, 201 if new else 200)
        if message is not None:
            require_unopposed(services, name, message)
        made = members.invited(services, name, files, url, valid_hours)
        agreed = None if message is None else agree_on(services, name, message)
        if access_file is not None:
            until = members.grant_access(services, name, "analyst", url, access_file)
    said = f"Study {name} is open" if new else f"Study {name} was there"
    told = f"{said}{_budget(wanted)}. Its owners {holding(wanted.people)}."
    console().print(told, markup=False, soft_wrap=True)
    members.show_invitations(made)
    if agreed is not None:
        show_agreed(name, agreed[0], new=agreed[1])
    if access_file is not None:
        members.show_access(name, "analyst", access_file, until)


def budget(
    name: Annotated[str, typer.Argument(help="The study.")],
    max_epsilon_record: RecordBudget = None,
    max_epsilon_column: ColumnBudget = None,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Give a study another budget; what is left out has no limit. What left is not called back."""
    from miner_service.store.people import change_budget

    wanted = _wanted(
        name=name, max_epsilon_record=max_epsilon_record, max_epsilon_column=max_epsilon_column
    )
    with (
        existing(settings_of(data, database, settings)) as services,
        services.audit.room(),
        services.database.write() as session,
    ):
        change_budget(session, wanted)
        note(services, "change_budget", name, 200)
    said = _budget(wanted) or "; it has no budget"
    console().print(f"Study {name} is changed{said}.", markup=False, soft_wrap=True)


def people(
    name: Annotated[str, typer.Argument(help="The study.")],
    people: Annotated[str, typer.Argument(help="same, different or overlapping.")],
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Correct what a study says of its owners' people; owners are told it from then on."""
    from miner_service.store.people import change_people
    from pramana_core.wire.base import holding

    wanted = _wanted(name=name, people=people)
    with (
        existing(settings_of(data, database, settings)) as services,
        services.audit.room(),
        services.database.write() as session,
    ):
        change_people(session, name, wanted.people)
        note(services, "change_people", name, 200)
    console().print(
        f"Study {name} is changed; its owners {holding(wanted.people)}.",
        markup=False,
        soft_wrap=True,
    )


def delete(
    name: Annotated[str, typer.Argument(help="The study.")],
    yes: Annotated[bool, typer.Option("--yes", help="Yes, for good.")] = False,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Delete a study with all its records, models, owners and tokens, for good.

    Its name stays in the audit log, and backups stay as they are.
    """
    from miner_service.operations.checking import delete_study

    if not yes:
        raise OptionError(
            f"The study {name} would be deleted for good, with everything of it.",
            where="yes",
            remedy="Say --yes if that is wanted.",
        )
    with (
        existing(settings_of(data, database, settings), files=True) as services,
        services.audit.room(),
    ):
        deleted = delete_study(services, name)
        note(services, "delete_study", name, 204)
    later = "" if deleted.erased else " Its rows leave the database's log once nobody reads them."
    if not deleted.removed:
        later += " The object store did not answer: the next start removes its records there."
    console().print(
        f"The study {name} is deleted, with {deleted.releases} releases.{later}",
        markup=False,
        soft_wrap=True,
    )


def _wanted(**given: Any) -> StudyCreate:
    from pydantic import ValidationError

    from pramana_core.wire.privacy import StudyCreate

    try:
        return StudyCreate.model_validate(given)
    except ValidationError as error:
        flags = {str(e["loc"][0]) for e in error.errors()}
        wrong = [f"{_FLAGS[str(e['loc'][0])]} is wrong: {e['msg']}" for e in error.errors()]
        raise OptionError(
            "; ".join(wrong) + ".",
            where=str(error.errors()[0]["loc"][0]),
            remedy=" ".join(_REMEDIES[flag] for flag in _REMEDIES if flag in flags),
        ) from None


def _budget(study: StudyCreate) -> str:
    limits = {"record": study.max_epsilon_record, "column": study.max_epsilon_column}
    told = [f"epsilon {most:g} of a {what}" for what, most in limits.items() if most is not None]
    return f"; at most {' and '.join(told)} may be told" if told else ""

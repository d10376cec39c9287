"""The commands of a study: made, changed, looked at; and of the plan that its owners agree on."""

from __future__ import annotations

from collections.abc import Sequence
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
from pramana_core.errors import OptionError
from pramana_core.terminal import console

if TYPE_CHECKING:
    from miner_service.services import Services
    from pramana_core.study_plan import StudyPlan
    from pramana_core.wire.privacy import StudyCreate
    from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView

_HARDLY = 5e-4
"""Smaller shares of the records are rounding."""

_NAMED = 12
"""Of so many variables of an owner it is said how often they are reported."""

StudyName = Annotated[str, typer.Argument(help="The study.")]


def study_plan_commands() -> typer.Typer:
    """Return the commands about a study's plan."""
    app = typer.Typer(
        help="What every record reports, at all owners together: agree on it, and read it.",
        no_args_is_help=True,
    )
    app.command("set")(set_plan)
    app.command("show")(show_plan)
    app.command("remove")(remove_plan)
    return app


def set_plan(
    name: StudyName,
    file: Annotated[Path, typer.Argument(help="The study plan, as its designer wrote it.")],
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Give a study its plan; another one only while no release follows it."""
    from miner_service.store.people import find_study

    message = read_plan(file)
    with existing(settings_of(data, database, settings)) as services:
        with services.database.read() as session:
            find_study(session, name)
        plan, new = agree_on(services, name, message)
    show_agreed(name, plan, new=new)


def agree_on(services: Services, study: str, message: StudyPlanMessage) -> tuple[StudyPlan, bool]:
    """Give a study its plan and note it; say whether it is new. Raises as `agree`."""
    from miner_service.intake.agreement import agree

    with services.audit.room():
        plan, new = agree(services, study, message)
        note(services, "put_study_plan", study, 201 if new else 200)
    return plan, new


def show_agreed(study: str, plan: StudyPlan, *, new: bool) -> None:
    """Print what the plan of a study has each owner report."""
    from pramana_core.wire.study_plans import StudyPlanView

    console().print(
        f"The plan of study {study} {'is agreed on' if new else 'was there'}.",
        markup=False,
        soft_wrap=True,
    )
    _tell(StudyPlanView.of(study, plan))


def require_fitting(
    services: Services, message: StudyPlanMessage, study: StudyCreate, owners: Sequence[str]
) -> None:
    """Check a plan against a study that is to be opened, so that nothing is issued in vain.

    Raises:
        OptionError: it is of other owners than the study's, or these hold other people.
        BudgetExceeded: it states more of a record than the study's budget allows.
        LimitExceeded, PlanError, ChannelError, DomainError: as `checked_study_plan`.
    """
    from miner_service.intake.agreement import checked_study_plan, require_within

    plan = checked_study_plan(services.settings.limits, message)
    planned = [name for name, _ in plan.owners]
    absent = [name for name in planned if name not in owners]
    further = [name for name in owners if name not in planned]
    if owners and (absent or further):
        said = [f"--owners lacks {', '.join(absent)} of the plan"] * bool(absent)
        said += [f"the plan lacks {', '.join(further)}"] * bool(further)
        raise OptionError(
            f"The plan is of other owners: {'; '.join(said)}. Nothing was made.",
            where="plan",
            remedy=f"Give --owners {','.join(planned)}; or have the plan designed from the public"
            " parts of all owners of the study (owner-agent design PART...).",
        )
    if study.people == "different":
        raise OptionError(
            "A plan of several owners is of the same people, and --people says that they hold"
            " different ones. Nothing was made.",
            where="people",
            remedy="Give --people same, or open the study without a plan.",
        )
    require_within(study.max_epsilon_record, plan)


def show_plan(
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write the whole plan as JSON.")] = False,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Say what the plan of a study has each owner report, and what it tells of a record."""
    from miner_service.intake.agreement import agreed_plan
    from miner_service.store.people import find_study
    from pramana_core.wire.study_plans import StudyPlanView

    with (
        existing(settings_of(data, database, settings)) as services,
        services.database.read() as session,
    ):
        find_study(session, name)
        plan = agreed_plan(session, name)
    if as_json:
        typer.echo(plan.canonical_json().decode())
    else:
        _tell(StudyPlanView.of(name, plan))


def remove_plan(
    name: StudyName,
    data: DataDir = DEFAULT_DATA,
    database: DatabaseAddress = None,
    settings: SettingsFile = None,
) -> None:
    """Take the plan of a study away, while no release follows it."""
    from miner_service.intake.agreement import withdraw_agreement
    from miner_service.store.people import find_study

    with existing(settings_of(data, database, settings)) as services:
        with services.database.read() as session:
            find_study(session, name)
        with services.audit.room():
            withdraw_agreement(services, name)
            note(services, "delete_study_plan", name, 204)
    console().print(f"Study {name} has no plan.", markup=False, soft_wrap=True)


def read_plan(file: Path) -> StudyPlanMessage:
    """Read the file of a study's plan. Raises OptionError."""
    from pydantic import ValidationError

    from pramana_core.wire.study_plans import StudyPlanMessage

    try:
        return StudyPlanMessage.model_validate_json(file.read_bytes())
    except OSError as error:
        raise OptionError(
            f"The study plan {file} cannot be read: {error.strerror}.",
            where="file",
            remedy="`owner-agent design PART... --write-study-plan FILE` writes it.",
        ) from error
    except ValidationError as error:
        places = sorted({".".join(str(step) for step in e["loc"][:4]) for e in error.errors()})
        raise OptionError(
            f"{file} is no study plan: {error.error_count()} errors, in {places[:5]}.",
            where="file",
            remedy="Give the JSON that the design of the study wrote.",
        ) from None


def _tell(view: StudyPlanView) -> None:
    record = view.record.to_amplification()
    silent = f"; {view.silent:.1%} of the records report nothing" if view.silent > _HARDLY else ""
    loss = (
        f"Over all owners a record loses epsilon {record.epsilon:.4g} (gamma"
        f" {record.written_gamma}), by one of {len(view.plan.sets)} sets{silent}."
    )
    lines = [f"Digest {view.digest}.", loss]
    for owner in view.owners:
        named = owner.reported[:_NAMED]
        shares = ", ".join(f"{told.variable} {told.share:.1%}" for told in named)
        if (more := len(owner.reported) - _NAMED) > 0:
            shares += f" and {more} more variables"
        alone = owner.amplification.to_amplification()
        lines.append(f"  {owner.owner}: at most epsilon {alone.epsilon:.4g}; reports {shares}.")
    for line in lines:
        console().print(line, markup=False, soft_wrap=True, highlight=False)


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
    url: members.UrlOption = None,
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
    files = members.invitation_files(name, names, folder)
    if access_file is not None:
        members.require_absent(access_file)
    message = None if plan is None else read_plan(plan)
    chosen = settings_of(data, database, settings)
    with existing(chosen) as services:
        named = bool(names) or access_file is not None
        address = members.address_named(chosen, url) if named else ""
        if message is not None:
            require_fitting(services, message, wanted, names)
        with services.audit.room(), services.database.write() as session:
            _, new = create_study(session, wanted, services.now())
            note(services, "create_study", name, 201 if new else 200)
        if message is not None:
            require_unopposed(services, name, message)
        made = members.invited(services, name, files, address, valid_hours)
        agreed = None if message is None else agree_on(services, name, message)
        if access_file is not None:
            until = members.grant_access(services, name, "analyst", address, access_file)
    said = f"Study {name} is open" if new else f"Study {name} was there"
    sentence = f"{said}{_budget(wanted)}. Its owners {holding(wanted.people)}."
    console().print(sentence, markup=False, soft_wrap=True)
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
    from miner_service.checking import delete_study

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
    parts = [f"epsilon {most:g} of a {what}" for what, most in limits.items() if most is not None]
    return f"; at most {' and '.join(parts)} may be told" if parts else ""

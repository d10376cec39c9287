"""The command `miner-service study plan`: the plan that a study's owners agree on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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

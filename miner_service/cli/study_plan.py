"""The `study plan` commands: set, show and remove the plan of all owners of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miner_service.cli.opening import note, on_store, say
from pramana_core.alike import first_few
from pramana_core.errors import OptionError
from pramana_core.terminal import console

if TYPE_CHECKING:
    from miner_service.services import Services
    from pramana_core.study_plan import StudyPlan
    from pramana_core.wire.privacy import StudyCreate
    from pramana_core.wire.study_plans import StudyPlanMessage

_ROUNDING = 5e-4
"""Smaller shares of silent records are rounding."""
_SHARES = 12
"""Variables of an owner whose shares are printed."""

StudyName = Annotated[str, typer.Argument(help="The study.")]


def study_plan_commands() -> typer.Typer:
    """Return the commands about a study's plan."""
    app = typer.Typer(
        help="The plan of all owners together: agree on it, and read it.", no_args_is_help=True
    )
    app.command("set")(set_plan)
    app.command("show")(show_plan)
    app.command("remove")(remove_plan)
    return app


@on_store()
def set_plan(
    services: Services,
    name: StudyName,
    file: Annotated[Path, typer.Argument(help="The study plan, as `design` wrote it.")],
) -> None:
    """Give a study its plan; another one only while no release follows it."""
    from miner_service.store.people import find_study

    message = read_plan(file)
    with services.database.read() as session:
        find_study(session, name)
    agree_on(services, name, message)


@on_store()
def show_plan(
    services: Services,
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write the whole plan as JSON.")] = False,
) -> None:
    """Show what each owner reports under the plan of a study, and its loss of a record."""
    from miner_service.intake.agreement import agreed_plan
    from miner_service.store.people import find_study

    with services.database.read() as session:
        find_study(session, name)
        plan = agreed_plan(session, name)
    if as_json:
        typer.echo(plan.canonical_json().decode())
    else:
        _print_plan(name, plan)


@on_store()
def remove_plan(services: Services, name: StudyName) -> None:
    """Remove the plan of a study, while no release follows it."""
    from miner_service.intake.agreement import withdraw_agreement
    from miner_service.store.people import find_study

    with services.database.read() as session:
        find_study(session, name)
    with services.audit.room():
        withdraw_agreement(services, name)
        note(services, "delete_study_plan", name, 204)
    say(f"Study {name} has no plan.")


def agree_on(services: Services, study: str, message: StudyPlanMessage) -> None:
    """Give a study its plan and print it. Raises as `agree`."""
    from miner_service.intake.agreement import agree

    with services.audit.room():
        plan, new = agree(services, study, message)
        note(services, "put_study_plan", study, 201 if new else 200)
    say(f"The plan of study {study} {'is agreed on' if new else 'was there'}.")
    _print_plan(study, plan)


def _print_plan(study: str, plan: StudyPlan) -> None:
    from pramana_core.wire.study_plans import StudyPlanView

    view = StudyPlanView.of(study, plan)
    record = view.record.to_amplification()
    silent = f"; {view.silent:.1%} of the records report nothing" if view.silent > _ROUNDING else ""
    lines = [
        f"Digest {view.digest}.",
        (
            f"Over all owners a record loses epsilon {record.epsilon:.4g} (gamma"
            f" {record.written_gamma}), by one of {len(view.plan.sets)} sets{silent}."
        ),
    ]
    for owner in view.owners:
        shares = first_few((f"{r.variable} {r.share:.1%}" for r in owner.reported), _SHARES)
        alone = owner.amplification.to_amplification()
        lines.append(f"  {owner.owner}: at most epsilon {alone.epsilon:.4g}; reports {shares}.")
    for line in lines:
        console().print(line, markup=False, soft_wrap=True, highlight=False)


def require_fitting(
    services: Services, message: StudyPlanMessage, study: StudyCreate, owners: Sequence[str]
) -> None:
    """Check a plan before its study is opened. Raises OptionError, or as `checked_study_plan`."""
    from miner_service.intake.agreement import checked_study_plan, require_within

    plan = checked_study_plan(services.settings.limits, message)
    planned = [name for name, _ in plan.owners]
    if owners and set(planned) != set(owners):
        raise OptionError(
            f"The plan is of the owners {', '.join(planned)}, and --owners names"
            f" {', '.join(owners)}. Nothing was made.",
            where="plan",
            remedy=f"Give --owners {','.join(planned)}; or have the plan designed from the public"
            " parts of all owners of the study (owner-agent design PART...).",
        )
    if study.people == "different":
        raise OptionError(
            "A plan of several owners is of the same people, and --people names different ones."
            " Nothing was made.",
            where="people",
            remedy="Give --people same, or open the study without a plan.",
        )
    require_within(study.max_epsilon_record, plan)


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
            f"{file} is no study plan: {error.error_count()} errors, in {first_few(places)}.",
            where="file",
            remedy="Give the JSON that the design of the study wrote.",
        ) from None

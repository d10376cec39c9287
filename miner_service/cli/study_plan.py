"""The `study plan` commands: set, show and remove a study's plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miner_service.cli.opening import noted, on_store, require_study, say, say_next
from pramana_core.alike import first_few
from pramana_core.errors import OptionError
from pramana_core.terminal import console

if TYPE_CHECKING:
    from miner_service.services import Services
    from pramana_core.wire.study_plans import StudyPlanMessage, StudyPlanView

_ROUNDING = 5e-4
"""Shares of records without a report that are smaller than this are rounding errors."""
_SHARES = 12
"""The maximum number of variables of an owner whose shares are printed."""

StudyName = Annotated[str, typer.Argument(help="The study's name.")]


def study_plan_commands() -> typer.Typer:
    """Return the commands for a study's plan."""
    app = typer.Typer(
        help="Set, show or remove the common plan of all owners.", no_args_is_help=True
    )
    app.command("set")(set_plan)
    app.command("show")(show_plan)
    app.command("remove")(remove_plan)
    return app


@on_store()
def set_plan(
    services: Services,
    name: StudyName,
    file: Annotated[Path, typer.Argument(help="The study plan that `design` wrote.")],
) -> None:
    """Set a study's plan; a plan can be replaced only while no release follows it."""
    from miner_service.http.endpoints import studies
    from miner_service.store.people import awaited_owners

    message = _read_plan(file)
    require_study(services, name)
    with noted(services, "put_study_plan", name, 201) as answer:
        view = studies.put_study_plan(name, message, services, answer)
    agreed = "was stored" if answer.status_code == 201 else "was already stored"
    say(f"The plan of study {name} {agreed}.")
    _print_plan(view)
    planned = {owner.owner for owner in view.owners}
    with services.database.read() as session:
        missing = sorted(awaited_owners(session, name, services.now()) - planned)
    if missing:
        say(
            f"warning: the plan has no columns of {', '.join(missing)}, who can therefore publish"
            " only public columns. If that is a mistake, design a new plan from all public parts."
        )
    say_next(services, name)


@on_store()
def show_plan(
    services: Services,
    name: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Write the whole plan as JSON.")] = False,
) -> None:
    """Show each owner's reports under a study's plan, and the loss of a record."""
    from miner_service.intake.agreement import agreed_plan
    from pramana_core.wire.study_plans import StudyPlanView

    require_study(services, name)
    with services.database.read() as session:
        plan = agreed_plan(session, name)
    if as_json:
        typer.echo(plan.canonical_json().decode())
    else:
        _print_plan(StudyPlanView.of(name, plan))


@on_store()
def remove_plan(services: Services, name: StudyName) -> None:
    """Remove a study's plan while no release follows it."""
    from miner_service.intake.agreement import withdraw_agreement

    require_study(services, name)
    with noted(services, "delete_study_plan", name, 204):
        withdraw_agreement(services, name)
    say(f"Study {name} now has no plan.")


def _print_plan(view: StudyPlanView) -> None:
    from pramana_core.rounding import rounded_up

    record = view.record.to_amplification()
    silent = f"; {view.silent:.1%} of the records report nothing" if view.silent > _ROUNDING else ""
    lines = [
        f"Digest {view.digest}.",
        (
            f"Over all owners, a record loses epsilon {rounded_up(record.epsilon)} (gamma"
            f" {record.written_gamma}) by one of {len(view.plan.sets)} sets{silent}."
        ),
    ]
    for owner in view.owners:
        shares = first_few((f"{r.variable} {r.share:.1%}" for r in owner.reported), _SHARES)
        alone = owner.amplification.to_amplification()
        lines.append(
            f"  {owner.owner}: at most epsilon {rounded_up(alone.epsilon)}; reports {shares}."
        )
    for line in lines:
        console().print(line, markup=False, soft_wrap=True, highlight=False)


def _read_plan(file: Path) -> StudyPlanMessage:
    from pydantic import ValidationError

    from pramana_core.wire.study_plans import StudyPlanMessage

    try:
        return StudyPlanMessage.model_validate_json(file.read_bytes())
    except OSError as error:
        raise OptionError(
            f"The study plan {file} cannot be read: {error.strerror}.",
            where="file",
            remedy="Write it with `owner-agent design PART... --write-study-plan FILE`.",
        ) from error
    except ValidationError as error:
        places = sorted({".".join(str(step) for step in e["loc"][:4]) for e in error.errors()})
        raise OptionError(
            f"{file} is not a study plan: {error.error_count()} errors in {first_few(places)}.",
            where="file",
            remedy="Name the JSON file that `owner-agent design` wrote.",
        ) from None

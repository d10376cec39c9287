"""`owner-agent study-plan`: the plan of the whole study, from the miner or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, surroundings_of
from pramana_core.errors import ConfigError, OptionError
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from owner_agent.site.site import Site
    from owner_agent.study_plan.adopting import Adopted

app = typer.Typer(help="Fetch the plan of the whole study, and read what it says of this owner.")

FILE = Path("study-plan.json")


@app.command()
def fetch(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The new file.")] = FILE,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Write the plan that the miner holds the owners to into a file, and say what it says."""
    from owner_agent.release.agreement import agreed_plan
    from owner_agent.site.site import load_site
    from owner_agent.study_plan.adopting import Adopted, write_study_plan

    opened = load_site(site)
    adopted = Adopted(agreed_plan(opened, surroundings_of(context)), opened.owner)
    write_study_plan(adopted.plan, file)
    _show(adopted, json=json)
    if not json:
        console().print(
            f"Wrote {file}. If you approve it, name it in the site file:\n\n"
            f'[study_plan]\nfile = "{file}"\ndigest = "{adopted.plan.digest}"',
            markup=False,
            soft_wrap=True,
        )


@app.command()
def show(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="The plan's file, instead of the site file's.")
    ] = None,
    miner: Annotated[bool, typer.Option("--miner", help="The plan that the miner has.")] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Say what the plan bounds, and what it has this owner report, how often and with whom."""
    from owner_agent.release.agreement import agreed_plan
    from owner_agent.site.site import load_site
    from owner_agent.study_plan.adopting import Adopted, read_study_plan

    if file is not None and miner:
        raise OptionError("Give a file or --miner, not both.", where="file")
    opened = load_site(site)
    if miner:
        plan = agreed_plan(opened, surroundings_of(context))
    else:
        plan = read_study_plan(file or _named(opened))
    _show(Adopted(plan, opened.owner), json=json)


def _named(site: Site) -> Path:
    if site.file.study_plan is None:
        raise ConfigError(
            "The site file names no study plan.",
            where="study_plan",
            remedy="Name its file, or show the miner's with --miner.",
        )
    return site.folder / site.file.study_plan.file


def _show(adopted: Adopted, *, json: bool) -> None:
    from owner_agent.cli.display.study_plans import show_adopted
    from owner_agent.study_plan.telling import adopted_json

    if json:
        print_json(adopted_json(adopted))
    else:
        show_adopted(console(), adopted)

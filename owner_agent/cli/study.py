"""A site's part in a study, beside its releases: `token`, `study-plan`, and `serve`.

Below: `owner-agent study-plan`: the plan of the whole study, from the miner or from a file.
`serve`: the owner's pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, environment_of
from pramana_core.errors import ConfigError, OptionError
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from owner_agent.site.adopting import AdoptedPlan
    from owner_agent.site.site import Site


token = typer.Typer(help="Renew the token that the miner knows this site by.")


@token.callback()
def _token() -> None:
    """Renew the token that the miner knows this site by."""


@token.command()
def rotate(context: typer.Context, site: SiteOption = SITE) -> None:
    """Get a new token in place of the one there is, which ends."""
    from owner_agent.release.agreement import rotate as rotate_token
    from owner_agent.site.site import load_site

    issued = rotate_token(load_site(site), environment_of(context))
    until = "" if issued.expires is None else f", good until {issued.expires:%Y-%m-%d}"
    console().print(f"Study {issued.study} has a new token of {issued.name}{until}.", markup=False)


def serve(
    context: typer.Context,
    site: SiteOption = SITE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8100,
    ready_file: Annotated[
        Path | None, typer.Option(help="A file for url and pid once it accepts requests.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen on other than loopback addresses.")
    ] = False,
) -> None:
    """Open your pages in a browser, and serve the agent's JSON, until Ctrl-C.

    The pages are served to this machine alone, by a link that works once. With --allow-remote
    there are none.
    """
    from owner_agent.http.serving import ListenAddress, serve_agent
    from owner_agent.pages.app import add_pages

    listen = ListenAddress(host, port, allow_remote=allow_remote, ready_file=ready_file)
    pages = None if allow_remote else add_pages
    serve_agent(site, environment_of(context), listen, pages)


# `owner-agent study-plan`: the plan of the whole study, from the miner or from a file.

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
    from owner_agent.site.adopting import AdoptedPlan, write_study_plan
    from owner_agent.site.site import load_site

    opened = load_site(site)
    adopted = AdoptedPlan(agreed_plan(opened, environment_of(context)), opened.owner)
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
    """Say what the plan bounds, what this owner reports by it, how often and with whom."""
    from owner_agent.release.agreement import agreed_plan
    from owner_agent.site.adopting import AdoptedPlan, read_study_plan
    from owner_agent.site.site import load_site

    if file is not None and miner:
        raise OptionError("Give a file or --miner, not both.", where="file")
    opened = load_site(site)
    if miner:
        plan = agreed_plan(opened, environment_of(context))
    else:
        plan = read_study_plan(file or _named(opened))
    _show(AdoptedPlan(plan, opened.owner), json=json)


def _named(site: Site) -> Path:
    if site.file.study_plan is None:
        raise ConfigError(
            "The site file names no study plan.",
            where="study_plan",
            remedy="Name its file, or show the miner's with --miner.",
        )
    return site.folder / site.file.study_plan.file


def _show(adopted: AdoptedPlan, *, json: bool) -> None:
    from owner_agent.report.plan_shown import show_adopted
    from owner_agent.site.adopting import adopted_json

    if json:
        print_json(adopted_json(adopted))
    else:
        show_adopted(console(), adopted)

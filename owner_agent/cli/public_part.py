"""`owner-agent public-part`: what one owner hands to those who plan a study with her."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption
from pramana_core.errors import OptionError
from pramana_core.terminal import at_terminal, console, print_json

if TYPE_CHECKING:
    from owner_agent.site.public_part import PublicPart
    from pramana_core.wire.base import People

_SHOWN = 12
"""Of a long list so many categories are shown."""

PeopleOption = Annotated[
    str | None,
    typer.Option(
        help="Say in the public part whose records they are: of the `same` people as the other"
        " owners', of `different` ones, or `overlapping`."
    ),
]


def public_part(
    out: Annotated[
        Path | None, typer.Option(help="A new file; without one OWNER.public.toml by the site's.")
    ] = None,
    people: PeopleOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Write it without showing the lists and asking.")
    ] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Write the public part of the site file, of which `design` makes the plan of all owners.

    It has your name in the study, your sensitive variables and their categories, and nothing else.
    The table is not read. `init` writes it too.
    """
    from owner_agent.site.public_part import PublicPart, place_of_part, write_part
    from owner_agent.site.site import load_site

    opened = load_site(site)
    part = PublicPart.of(opened, known_people(people))
    if not (yes or json):
        _ask(part)
    elif not yes:
        raise _nobody()
    path = out or place_of_part(site, opened.owner)
    write_part(part, path)
    if json:
        print_json({"file": str(path), **part.model_dump(mode="json")})
        return
    say_written(path)


def known_people(people: str | None) -> People | None:
    """Return what `--people` says. Raises OptionError."""
    from typing import get_args

    from pramana_core.wire.base import People

    words: tuple[People, ...] = get_args(People)
    for word in words:
        if people == word:
            return word
    if people is None:
        return None
    raise OptionError(
        f"--people {people} says nothing of whose records they are.",
        where="people",
        remedy=f"Give one of {', '.join(words)}.",
    )


def say_written(path: Path) -> None:
    """Say where the public part is, and what it is for."""
    console().print(
        f"Wrote {path}, the public part: names and categories alone. If owners plan together, hand"
        " it to whoever runs `owner-agent design PART...`.",
        markup=False,
        soft_wrap=True,
    )


def _ask(part: PublicPart) -> None:
    """Show what becomes public and ask. Raises OptionError without a yes."""
    if not at_terminal():
        raise _nobody()
    for v in part.variables:
        more = f" and {len(v.categories) - _SHOWN} more" if len(v.categories) > _SHOWN else ""
        console().print(
            f"{v.name}: {', '.join(v.categories[:_SHOWN])}{more}", markup=False, soft_wrap=True
        )
    if not typer.confirm("These names and categories become public. Write them?"):
        raise _nobody()


def _nobody() -> OptionError:
    return OptionError(
        "Nobody confirmed that these names and categories may become public; nothing was written.",
        where="yes",
        remedy="Run it at a terminal, which shows them and asks; or say --yes.",
    )

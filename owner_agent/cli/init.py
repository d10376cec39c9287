"""`owner-agent init` and `public-part`: from a table to a site file and its public part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, SiteOption, show_lines
from owner_agent.site.table_source import MARKED
from pramana_core.alike import first_few
from pramana_core.errors import InputError, OptionError
from pramana_core.terminal import at_terminal, console, progress_bar

if TYPE_CHECKING:
    from owner_agent.table.proposing import ProposedSite, ProposedVariable


def public_part(
    out: Annotated[
        Path | None, typer.Option(help="A new file; without one OWNER.public.toml by the site's.")
    ] = None,
    site: SiteOption = SITE,
) -> None:
    """Write the public part of the site file, of which `design` makes the plan of all owners.

    It has your name in the study, your sensitive variables and their categories, and nothing else.
    The table is not read. `init` writes it too.
    """
    from owner_agent.site.public_part import PublicPart, place_of_part
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import COMMON_MODE, save

    opened = load_site(site)
    part = PublicPart.of(opened)
    path = out or place_of_part(site, opened.owner)
    save(path, part.text.encode(), "out", COMMON_MODE)
    say_written(path)


def say_written(path: Path) -> None:
    """Say where the public part is, and what it is for."""
    console().print(
        f"Wrote {path}, the public part: names and categories alone. If owners plan together, hand"
        " it to whoever runs `owner-agent design PART...`.",
        markup=False,
        soft_wrap=True,
    )


Lists = Mapping[str, tuple[str, Sequence[str]]]
"""Public lists by column: whether they are `categories` or `cuts`, and what they hold."""

_NAMES = "letters, digits and . _ -, a letter or digit first"


def init(
    table: Annotated[
        str,
        typer.Argument(
            help="The table: CSV, Parquet, a workbook (.xlsx, .ods), or the address of a database"
            " (postgresql://USER@HOST/NAME, sqlite:///FILE) with --query."
        ),
    ],
    owner: Annotated[
        str | None, typer.Option(help="Your name in the study; an invitation says it, too.")
    ] = None,
    invitation: Annotated[
        Path | None, typer.Option(help="The invitation's file: owner, miner and study.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="The column that identifies records.")
    ] = None,
    header: Annotated[
        bool,
        typer.Option(
            "--header",
            help="The first row holds the names of the columns, although it looks like a record.",
        ),
    ] = False,
    encoding: Annotated[
        str | None, typer.Option(help="The file's encoding, where a wrong one is found: cp1250.")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="The character between cells, where a wrong one is found.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Of a database: the name of a table, or a SELECT.")
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option(metavar="VAR=A,B,C", help="The public categories of a column. Repeatable."),
    ] = None,
    cuts: Annotated[
        list[str] | None,
        typer.Option(metavar="VAR=30,45", help="The public cuts of a numeric column. Repeatable."),
    ] = None,
    not_sensitive: Annotated[
        list[str] | None,
        typer.Option(metavar="VAR", help="A column that may leave as it is. Repeatable."),
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(metavar="VAR", help="A column to leave out. Repeatable.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Take the table's own lists, but for those with rare categories."
        ),
    ] = False,
    site: SiteOption = SITE,
) -> None:
    """Read a table and write a site file that says what it holds; nothing is sent.

    Beside it comes OWNER.public.toml, its public part, of which owners together make their plan.

    Categories become public with the plan. Each list that comes from the table is confirmed or
    replaced, at a terminal one by one, in scripts by the options. A list with categories that fewer
    than 5 records have is never taken by --yes: its names would tell of them.
    """
    from owner_agent.site.public_part import PublicPart, place_of_part
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import COMMON_MODE, require_absent, save
    from owner_agent.table.proposing import propose_site, require_columns
    from owner_agent.table.site_text import site_text, write_site
    from owner_agent.table.table import detect

    require_absent(site, "site")
    asking = at_terminal() and not yes
    with progress_bar("reading the table"):
        proposed = propose_site(detect(table, encoding, separator, query), record_id, header=header)
    _show_reading(proposed)
    lists = _typed_lists(categories or [], cuts or [])
    choices = [*lists, *(not_sensitive or []), *(leave_out or [])]
    require_columns(choices, proposed.columns)
    if proposed.record_id in choices:
        raise OptionError(
            f"Column {proposed.record_id!r} is the record id and cannot be a variable.",
            where=proposed.record_id,
            remedy="Name another record id with --record-id, or leave the option out.",
        )
    named, where = _study_of(owner, invitation, asking=asking)
    proposed = _with_lists(_without(proposed, leave_out or []), lists)
    if asking:
        proposed = _asked(proposed, not_sensitive or [])
    else:
        _require_confirmed(proposed, yes=yes)
    proposed = replace(
        proposed,
        variables=tuple(
            replace(v, sensitive=v.sensitive and v.name not in (not_sensitive or []))
            for v in proposed.variables
        ),
    )
    part = place_of_part(site, named) if any(v.sensitive for v in proposed.variables) else None
    if part is not None:
        require_absent(part, "out")
    write_site(site_text(proposed, site.resolve().parent, named, where), site)
    if part is not None:
        save(part, PublicPart.of(load_site(site)).text.encode(), "out", COMMON_MODE)
    _show(proposed)
    if part is not None:
        say_written(part)
    step = "check" if site == SITE else f"check --site {site}"
    console().print(
        f"Wrote {site}, for your eyes only. Read it; then `owner-agent {step}`.",
        markup=False,
        soft_wrap=True,
    )


def _typed_lists(categories: Sequence[str], cuts: Sequence[str]) -> Lists:
    """Return the lists that the options give. Raises OptionError."""
    found: dict[str, tuple[str, Sequence[str]]] = {}
    for kind, options in (("categories", categories), ("cuts", cuts)):
        for option in options:
            name, sign, listed = option.partition("=")
            if not sign:
                raise OptionError(
                    f"--{kind} needs a column and its list.",
                    where=kind,
                    remedy=f"Write --{kind} NAME=" + ("30,45." if kind == "cuts" else "a,b,c."),
                )
            found[name] = kind, [part.strip() for part in listed.split(",")]
    return found


def _study_of(
    owner: str | None, invitation: Path | None, *, asking: bool
) -> tuple[str, dict[str, str] | None]:
    """Return the owner's name, and the section of the miner if it is known. Raises OptionError."""
    if invitation is not None:
        from owner_agent.release.joining import read_invitation

        invited = read_invitation(invitation)
        return owner or invited.owner, {"url": invited.miner, "study": invited.study}
    if owner is None and asking:
        owner = typer.prompt(f"Your name in the study ({_NAMES})")
    if owner is None:
        raise OptionError(
            "Your name in the study is not given.",
            where="owner",
            remedy="Give --owner NAME, or the study's --invitation FILE.",
        )
    return owner, None


def _without(proposed: ProposedSite, names: Sequence[str]) -> ProposedSite:
    left = {**proposed.left_out, **dict.fromkeys(names, "left out as you said")}
    kept = tuple(v for v in proposed.variables if v.name not in names)
    return replace(proposed, variables=kept, left_out=left)


def _with_lists(proposed: ProposedSite, lists: Lists) -> ProposedSite:
    """Return a proposal with public lists, also of columns that had been left out."""
    from owner_agent.table.proposing import ProposedVariable

    known = {v.name: v for v in proposed.variables}
    for name, (kind, given) in lists.items():
        known[name] = known.get(name, ProposedVariable(name)).listed(given, kind)
    variables = tuple(known[name] for name in proposed.columns if name in known)
    left = {name: why for name, why in proposed.left_out.items() if name not in lists}
    return replace(proposed, variables=variables, left_out=left)


def _require_confirmed(proposed: ProposedSite, *, yes: bool) -> None:
    """Check that no list of the table becomes public unconfirmed. Raises OptionError."""
    own = [v for v in proposed.variables if not v.public]
    rare = [v for v in own if v.rare]
    if rare:
        listed = ", ".join(f"{v.name!r} ({v.rare})" for v in rare)
        raise OptionError(
            f"Fewer than 5 records have some categories of {listed}, so that these lists would tell"
            " of them; nothing was written.",
            where=rare[0].name,
            remedy="Give public lists, by --categories VAR=a,b,c, or leave the"
            " columns out (--leave-out VAR); at a terminal, without --yes, you may confirm them.",
        )
    if own and not yes:
        raise OptionError(
            "Categories become public with the plan, and nobody confirmed those of"
            f" {', '.join(repr(v.name) for v in own)}; nothing was written.",
            where=own[0].name,
            remedy="Run it at a terminal, which asks for each; or give public lists by"
            " --categories, or take the table's with --yes.",
        )


def _asked(proposed: ProposedSite, not_sensitive: Sequence[str]) -> ProposedSite:
    """Ask for each list that comes from the table, and which columns may leave as they are."""
    out = console()
    out.print(
        f"{proposed.rows:,} records, told apart by column {proposed.record_id!r} (--record-id names"
        " another). Categories become public with the plan: take the table's, or write a public"
        " list.",
        markup=False,
    )
    kept: list[ProposedVariable] = []
    left = dict(proposed.left_out)
    for number, variable in enumerate(proposed.variables, 1):
        found = variable if variable.public else _confirmed(variable, number, proposed)
        if found is None:
            left[variable.name] = "left out as you said"
        else:
            kept.append(found)
    names = [v.name for v in kept]
    while True:
        said = typer.prompt(
            "Columns that are not sensitive and may leave as they are (none, or names with commas)",
            default="none",
        )
        chosen = [] if said == "none" else [name.strip() for name in said.split(",")]
        if not (absent := [name for name in chosen if name not in names]):
            break
        from pramana_core.alike import did_you_mean

        out.print(f"No variable: {', '.join(absent)}{did_you_mean(absent, names)}.", markup=False)
    public = {*chosen, *not_sensitive}
    variables = tuple(replace(v, sensitive=v.name not in public) for v in kept)
    return replace(proposed, variables=variables, left_out=left)


def _confirmed(
    variable: ProposedVariable, number: int, proposed: ProposedSite
) -> ProposedVariable | None:
    """Ask for a list; None leaves the column out."""
    out = console()
    labels = variable.labels
    out.print(f"\n{number} of {len(proposed.variables)}  ", end="", markup=False)
    out.print(variable.name, style="bold", markup=False, end="")
    out.print(f": {first_few(labels, 12)}", markup=False, soft_wrap=True)
    if variable.rare:
        out.print(
            f"Fewer than 5 records have {variable.rare} of them: the list itself tells of these,"
            " unless everybody knows that there are such.",
            style="yellow",
            markup=False,
        )
    while True:
        said = typer.prompt("Take it (y), write another list (l), leave the column out (n)").strip()
        if said in ("y", "yes"):
            return variable
        if said in ("n", "no"):
            return None
        if said in ("l", "list"):
            kind = variable.kind
            listed = typer.prompt(f"The {kind}, with commas between them")
            try:
                return variable.listed([part.strip() for part in listed.split(",")], kind)
            except InputError as error:
                out.print(error.message, markup=False)


def _show_reading(proposed: ProposedSite) -> None:
    """Print how the text was read, unless by UTF-8, commas and points, and what columns hold.

    Nothing of it is a value of the table.
    """
    source = proposed.table
    if source.encoding != MARKED:
        show_lines([f"The text is read as {source.encoding}; --encoding names another."])
    if source.separator is not None:
        sign = {"\t": "tabs", ";": "semicolons"}.get(source.separator, repr(source.separator))
        show_lines([f"Cells are separated by {sign}; --separator names another sign."])
    if source.decimal_commas:
        names = ", ".join(map(repr, source.decimal_commas))
        show_lines([f"Numbers with decimal commas are read in {names}."])
    show_lines(f"{v.name!r} holds {v.note}." for v in proposed.variables if v.note)


def _show(proposed: ProposedSite) -> None:
    """Print what was written, without any value of the table: scripts keep what they print."""
    out = console()
    sensitive = sum(v.sensitive for v in proposed.variables)
    out.print(
        f"{proposed.rows:,} records, told apart by {proposed.record_id!r};"
        f" {len(proposed.variables)} variables, {sensitive} of them sensitive.",
        markup=False,
    )
    for name, why in proposed.left_out.items():
        out.print(f"Left out: {name!r}, {why}.", markup=False, soft_wrap=True)

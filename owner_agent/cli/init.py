"""The commands `init` and `public-part`, which write a site file and its public part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, SiteOption, show_lines
from owner_agent.site.table_source import MARKED
from pramana_core.alike import first_few
from pramana_core.errors import InputError, MissingColumn, OptionError, UnprotectedVariable
from pramana_core.terminal import at_terminal, console, progress_bar

if TYPE_CHECKING:
    from owner_agent.table.proposing import ProposedSite, ProposedVariable


def public_part(
    out: Annotated[
        Path | None,
        typer.Option(help="A new file; default: OWNER.public.toml next to the site file."),
    ] = None,
    site: SiteOption = SITE,
) -> None:
    """Write the public part of the site file, from which `design` computes a joint plan.

    The public part contains your name in the study, your sensitive variables and their categories,
    and nothing else. The table is not read. `init` also writes the public part.
    """
    from owner_agent.site.public_part import PublicPart, place_of_part
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import COMMON_MODE, save

    opened = load_site(site)
    part = PublicPart.of(opened)
    path = out or place_of_part(site, opened.owner)
    save(path, part.text.encode(), "out", COMMON_MODE)
    print_written(path)


def print_written(path: Path) -> None:
    """Print the path and the purpose of the public part."""
    console().print(
        f"Wrote {path}, the public part: only names and categories. For a joint plan, give the "
        "file to the person who runs `owner-agent design PART...`.",
        markup=False,
        soft_wrap=True,
    )


Lists = Mapping[str, tuple[str, Sequence[str]]]
"""Public lists by column: the kind, `categories` or `cuts`, and the items."""

_NAMES = "at most 64 letters, digits and . _ -, starting with a letter or digit"


def init(
    table: Annotated[
        str,
        typer.Argument(
            help="The table: CSV, Parquet, 'FOLDER/*.parquet', a workbook (.xlsx, .ods), or the"
            " address of a database (postgresql://USER@HOST/NAME, sqlite:///FILE) with --query."
        ),
    ],
    owner: Annotated[
        str | None, typer.Option(help="Your name in the study; default: the invitation's.")
    ] = None,
    invitation: Annotated[
        Path | None, typer.Option(help="The file of the invitation, with owner, miner and study.")
    ] = None,
    record_id: Annotated[
        str | None, typer.Option(help="The column that identifies records.")
    ] = None,
    header: Annotated[
        bool,
        typer.Option(
            "--header",
            help="The first row contains the column names, although it looks like a record.",
        ),
    ] = False,
    encoding: Annotated[
        str | None,
        typer.Option(help="The encoding of the file, such as cp1250, if it is detected wrongly."),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="The character between cells, if it is detected wrongly.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="For a database: the name of a table, or a SELECT.")
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
        typer.Option(metavar="VAR", help="A column to send unchanged. Repeatable."),
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(metavar="VAR", help="A column to omit. Repeatable.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Accept the lists taken from the table, except lists with rare categories.",
        ),
    ] = False,
    site: SiteOption = SITE,
) -> None:
    """Read a table and write a site file that describes it. Nothing is sent.

    The command also writes OWNER.public.toml, the public part, for a joint plan of several owners.

    Categories become public with the plan. Therefore confirm or replace each list taken from the
    table: at a terminal one by one, in scripts by options. --yes never accepts a list with
    categories of fewer than 5 records, because their names would reveal the records.
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
        proposed = _confirm_at_terminal(proposed, not_sensitive or [])
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
        print_written(part)
    option = "" if site == SITE else f" --site {site}"
    steps = ["check", *([] if invitation is None else [f"join {invitation}"])]
    commands = ", then ".join(f"`owner-agent {step}{option}`" for step in steps)
    console().print(
        f"Wrote {site}, which is private. Review it, then run {commands}.",
        markup=False,
        soft_wrap=True,
    )


def _typed_lists(categories: Sequence[str], cuts: Sequence[str]) -> Lists:
    found: dict[str, tuple[str, Sequence[str]]] = {}
    for kind, options in (("categories", categories), ("cuts", cuts)):
        for option in options:
            name, sign, listed = option.partition("=")
            if not sign:
                raise OptionError(
                    f"--{kind} needs the name of a column, then = and the column's {kind}.",
                    where=kind,
                    remedy=f"Write --{kind} NAME=" + ("30,45." if kind == "cuts" else "a,b,c."),
                )
            found[name] = kind, [part.strip() for part in listed.split(",")]
    return found


def _study_of(
    owner: str | None, invitation: Path | None, *, asking: bool
) -> tuple[str, dict[str, str] | None]:
    """Return the owner's name, and [miner] from the invitation, if any. Raises OptionError."""
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
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", owner):
        raise OptionError(f"The name {owner!r} must have only {_NAMES}.", where="owner")
    return owner, None


def _without(proposed: ProposedSite, names: Sequence[str]) -> ProposedSite:
    left = {**proposed.left_out, **dict.fromkeys(names, "omitted at your request")}
    kept = tuple(v for v in proposed.variables if v.name not in names)
    return replace(proposed, variables=kept, left_out=left)


def _with_lists(proposed: ProposedSite, lists: Lists) -> ProposedSite:
    """Return the proposal with the lists given by options in place of those from the table.

    Columns that the proposal omits can become variables by their lists.
    """
    from owner_agent.table.proposing import ProposedVariable

    known = {v.name: v for v in proposed.variables}
    for name, (kind, given) in lists.items():
        known[name] = known.get(name, ProposedVariable(name)).with_list(given, kind)
    variables = tuple(known[name] for name in proposed.columns if name in known)
    left = {name: why for name, why in proposed.left_out.items() if name not in lists}
    return replace(proposed, variables=variables, left_out=left)


def _require_confirmed(proposed: ProposedSite, *, yes: bool) -> None:
    own = [v for v in proposed.variables if not v.public]
    rare = [v for v in own if v.rare]
    if rare:
        listed = ", ".join(f"{v.name!r} ({len(v.rare)})" for v in rare)
        raise OptionError(
            f"Some categories of {listed} have fewer than 5 records, and the lists would reveal "
            "these records. Nothing was written.",
            where=rare[0].name,
            remedy="Give public lists with --categories VAR=a,b,c, or omit the columns"
            " (--leave-out VAR). At a terminal, without --yes, you can confirm the lists.",
        )
    if own and not yes:
        raise OptionError(
            "Categories become public with the plan, but are not confirmed for"
            f" {', '.join(repr(v.name) for v in own)}. Nothing was written.",
            where=own[0].name,
            remedy="Run the command at a terminal to confirm each list, give public lists with"
            " --categories, or accept the table's lists with --yes.",
        )


def _confirm_at_terminal(proposed: ProposedSite, not_sensitive: Sequence[str]) -> ProposedSite:
    from owner_agent.table.proposing import require_columns

    out = console()
    out.print(
        f"{proposed.rows:,} records, identified by column {proposed.record_id!r} (--record-id"
        " selects another). Categories become public with the plan, so accept or replace each "
        "list.",
        markup=False,
    )
    kept: list[ProposedVariable] = []
    left = dict(proposed.left_out)
    for number, variable in enumerate(proposed.variables, 1):
        found = variable if variable.public else _confirm_list(variable, number, proposed)
        if found is None:
            left[variable.name] = "omitted at your request"
        else:
            kept.append(found)
    names = [v.name for v in kept]
    while True:
        answer = typer.prompt(
            "Columns to send unchanged because they are not sensitive (names separated by "
            "commas, or none)",
            default="none",
        )
        chosen = [] if answer == "none" else [name.strip() for name in answer.split(",")]
        public = {*chosen, *not_sensitive}
        variables = tuple(replace(v, sensitive=v.name not in public) for v in kept)
        confirmed = replace(proposed, variables=variables, left_out=left)
        try:
            require_columns(chosen, names)
            _require_readable(confirmed)
        except (MissingColumn, UnprotectedVariable) as error:
            out.print(str(error), markup=False)
        else:
            return confirmed


def _require_readable(proposed: ProposedSite) -> None:
    from owner_agent.table.site_text import require_readable, site_text

    require_readable(site_text(proposed, Path.cwd(), "owner", None), SITE)


def _confirm_list(
    variable: ProposedVariable, number: int, proposed: ProposedSite
) -> ProposedVariable | None:
    """Return a variable with its confirmed or replaced list, or None if the person omits it."""
    out = console()
    labels = variable.labels
    out.print(f"\n{number} of {len(proposed.variables)}  ", end="", markup=False)
    out.print(variable.name, style="bold", markup=False, end="")
    out.print(f": {first_few(labels, 12)}", markup=False, soft_wrap=True)
    if variable.rare:
        out.print(
            f"Each of these categories has fewer than 5 records: {first_few(variable.rare, 12)}."
            " The list would reveal that such records exist. Accept it only if this is public.",
            style="yellow",
            markup=False,
        )
    while True:
        answer = typer.prompt("Accept the list (y), write another (l), omit the column (n)").strip()
        if answer in ("y", "yes"):
            return variable
        if answer in ("n", "no"):
            return None
        if answer in ("l", "list"):
            kind = variable.kind
            listed = typer.prompt(f"The {kind}, separated by commas")
            try:
                found = variable.with_list([part.strip() for part in listed.split(",")], kind)
                _require_readable(replace(proposed, variables=(found,)))
            except InputError as error:
                out.print(str(error), markup=False)
            else:
                return found


def _show_reading(proposed: ProposedSite) -> None:
    """Print the detected text format if it is unusual, and notes on columns.

    The output contains no value of the table.
    """
    source = proposed.table
    if source.encoding != MARKED:
        show_lines([f"The text is read as {source.encoding}; --encoding selects another."])
    if source.separator is not None:
        sign = {"\t": "tabs", ";": "semicolons"}.get(source.separator, repr(source.separator))
        show_lines([f"Cells are separated by {sign}; --separator selects another character."])
    if source.decimal_commas:
        names = ", ".join(map(repr, source.decimal_commas))
        show_lines([f"Numbers with decimal commas are read in {names}."])
    show_lines(f"{v.name!r} contains {v.note}." for v in proposed.variables if v.note)


def _show(proposed: ProposedSite) -> None:
    """Print a summary of the site file without any value of the table, because scripts log it."""
    out = console()
    sensitive = sum(v.sensitive for v in proposed.variables)
    out.print(
        f"{proposed.rows:,} records, identified by {proposed.record_id!r};"
        f" {len(proposed.variables)} variables, {sensitive} of them sensitive.",
        markup=False,
    )
    for name, why in proposed.left_out.items():
        out.print(f"Omitted: {name!r}, {why}.", markup=False, soft_wrap=True)

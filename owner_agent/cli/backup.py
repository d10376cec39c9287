"""The commands `backup` and `restore`, for an encrypted copy of the state directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from owner_agent.cli.options import SITE, SiteOption, environment_of, show_lines
from owner_agent.state.private_files import refuse_if_open_to_others
from pramana_core.errors import OptionError
from pramana_core.terminal import at_terminal
from pramana_core.text_files import read_text

PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        help="A file (mode 0600) with the passphrase. By default, the command prompts for it."
    ),
]


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file.")],
    passphrase_file: PassphraseFile = None,
    site: SiteOption = SITE,
) -> None:
    """Write an encrypted copy of the state directory to a file. Repeat this after every release."""
    from owner_agent.site.site import load_site
    from owner_agent.state.audit import noted
    from owner_agent.state.backup import back_up, require_something_to_back_up

    state, now = load_site(site).state, environment_of(context).now()
    passphrase = _passphrase(passphrase_file, confirm=True)
    require_something_to_back_up(state)
    with noted(state, now, "back_up"):
        count = back_up(state, file, passphrase, now)
        show_lines([f"{count} files of {state} are encrypted in {file}."])


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file written by `backup`.")],
    passphrase_file: PassphraseFile = None,
    site: SiteOption = SITE,
) -> None:
    """Restore the state directory from a backup, and compare it with the miner's list of releases.

    A state directory that already has content is not changed.
    """
    from owner_agent.release.history import known_entries, not_known_by_miner
    from owner_agent.site.site import load_site
    from owner_agent.state.audit import noted
    from owner_agent.state.backup import restore as restore_state

    opened, environment = load_site(site), environment_of(context)
    made = restore_state(file, opened.state, _passphrase(passphrase_file, confirm=False))
    with noted(opened.state, environment.now(), "restore", made=made.isoformat()):
        show_lines([f"The state of {made:%Y-%m-%d %H:%M} UTC was restored to {opened.state}."])
    unknown = not_known_by_miner(opened, known_entries(opened.state), environment)
    if unknown is not None:
        show_lines([f"The miner was not queried for newer releases: {unknown}"])


def _passphrase(file: Path | None, *, confirm: bool) -> str:
    if file is not None:
        refuse_if_open_to_others(file, f"chmod 600 {file}")
        return read_text(file).strip("\r\n")
    if not at_terminal():
        raise OptionError(
            "No passphrase is given.",
            where="passphrase-file",
            remedy="Run the command at a terminal, or name a file with --passphrase-file.",
        )
    answer: str = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm)
    return answer

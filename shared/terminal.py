"""How the commands speak to people and scripts: colour and width, `--json`, exit codes.

Exit codes of every command: 0 done; 1 unforeseen failure; 2 bad usage, configuration or data;
3 a secret is missing or unsafe; 4 refused (by the miner, by what is stored, or by rights);
5 the other side did not answer; 6 the data cannot support the estimate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer
from rich.console import Console

from shared.errors import PramanaError

MAX_WIDTH = 100


def console(*, stderr: bool = False) -> Console:
    """Return a console no wider than `MAX_WIDTH` columns; colour only where a person looks."""
    made = Console(stderr=stderr, highlight=False)
    if made.width > MAX_WIDTH:
        made.width = MAX_WIDTH
    return made


def print_json(value: Any) -> None:
    """Write one JSON document to standard output, for scripts."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def report_error(error: PramanaError) -> None:
    """Write an error to standard error: its code, what was wrong, and what to do."""
    out = console(stderr=True)
    out.print(f"error ({error.code}): ", style="bold red", end="")
    out.print(error.message, markup=False, soft_wrap=True)
    if error.remedy:
        out.print("  what to do: ", style="bold", end="")
        out.print(error.remedy, markup=False, soft_wrap=True)


def run(app: typer.Typer) -> NoReturn:
    """Run a command-line application; PramanaErrors become a message and their exit code."""
    command: Callable[..., Any] = typer.main.get_command(app)
    try:
        command()
    except PramanaError as error:
        report_error(error)
        sys.exit(error.exit_code)
    sys.exit(0)

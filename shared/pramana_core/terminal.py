"""How the commands speak to people and scripts: colour and width, `--json`, exit codes.

Exit codes of every command: 0 done; 1 unforeseen failure; 2 bad usage, configuration or data;
3 a secret is missing or unsafe; 4 refused (by the miner, by what is stored, or by rights);
5 the other side did not answer; 6 the data cannot support the estimate.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pramana_core.errors import NotInstalled, OptionError, PramanaError
from pramana_core.full_disks import is_full, no_room

if TYPE_CHECKING:
    from rich import progress
    from rich.console import Console

MAX_WIDTH = 100

PATIENCE = 2.0
"""Seconds after which a progress bar appears."""


def console(*, stderr: bool = False) -> Console:
    """Return a console no wider than `MAX_WIDTH` columns; colour only where a person looks."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    if made.width > MAX_WIDTH:
        made.width = MAX_WIDTH
    return made


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("pramana")
        except PackageNotFoundError:
            found = "not installed: it runs from a checkout"
        revision = os.environ.get("PRAMANA_REVISION")
        sys.stdout.write(f"pramana {found}{f' (revision {revision})' if revision else ''}\n")
        raise typer.Exit


def at_terminal() -> bool:
    """Whether a person reads and answers; a script is told by options instead."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_json(value: Any) -> None:
    """Write one JSON document to standard output, for scripts."""
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False) + "\n")


def report_error(error: PramanaError) -> None:
    """Write an error to standard error: its code, what was wrong, and what to do."""
    out = console(stderr=True)
    out.print(f"error ({error.code}): ", style="bold red", end="")
    out.print(error.message, markup=False, soft_wrap=True)
    if error.remedy:
        out.print("  what to do: ", style="bold", end="")
        out.print(error.remedy, markup=False, soft_wrap=True)


class Bar:
    """A progress bar: called as `Progress` is, or with the stage that the work is in."""

    def __init__(self, bar: progress.Progress, doing: str, patience: float):
        self._bar = bar
        self._task = bar.add_task(doing, total=None)
        self._patience = patience
        self._began = bar.get_time()

    def __call__(self, done: float, total: float | None) -> None:
        """Show how much of the total is done; work of unknown length is shown at once."""
        self._bar.update(self._task, completed=done)
        # Rich takes a total of None for none that is new.
        self._bar.tasks[0].total = total
        if total is None or self._bar.get_time() - self._began >= self._patience:
            self._bar.start()

    def stage(self, doing: str, done: float, total: float | None) -> None:
        """Show what is being done, and how much of it is done."""
        self._bar.update(self._task, description=doing)
        self(done, total)

    def end(self) -> None:
        """Take the bar away, for what is printed next; the next call shows it again."""
        self._bar.stop()


@contextmanager
def progress_bar(
    doing: str = "",
    *,
    patience: float = PATIENCE,
    on: Console | None = None,
    clock: Callable[[], float] | None = None,
) -> Iterator[Bar]:
    """Show a bar with the time left, on standard error of a terminal, where the work takes longer
    than `patience` seconds; tests give another console and clock."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    terminal = on or console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal or terminal.is_jupyter,
        get_time=clock,
    )
    try:
        yield Bar(bar, doing, patience)
    finally:
        bar.stop()


EXIT_CODES = (
    "Exit codes: 0 done; 1 unforeseen failure; 2 bad usage, configuration or data; 3 a secret is"
    " missing or unsafe; 4 refused; 5 the other side did not answer; 6 the data cannot support it."
)

_SHOWN_OF_A_GROUP = 3
"""The examples in the help of a group of commands."""


def application(about: str, **settings: Any) -> typer.Typer:
    """Return a program without commands: `--version`, completion, and no value in a traceback."""
    # A traceback with local variables would print cells of a table.
    app = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False, **settings)
    app.callback()(_root)
    return app


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def with_examples(app: typer.Typer, program: str, examples: Mapping[str, str]) -> typer.Typer:
    """End the help of every command with an example and the exit codes; return the application.

    Every command refuses options that are `nan` or `inf`. `examples` has what is typed after
    `program`, by the words of each command.
    """
    for command in app.registered_commands:
        if command.callback is not None and not hasattr(command.callback, "finite"):
            command.callback = _with_finite_numbers(command.callback)
        called = getattr(command.callback, "__name__", "")
        name = command.name or called.removesuffix("_command").replace("_", "-")
        command.epilog = _epilog(program, [examples[name]] if name in examples else [])
    for group in app.registered_groups:
        inside = {
            words.partition(" ")[2]: typed
            for words, typed in examples.items()
            if words.partition(" ")[0] == group.name
        }
        if group.typer_instance is not None:
            with_examples(group.typer_instance, program, inside)
        group.epilog = _epilog(program, list(inside.values())[:_SHOWN_OF_A_GROUP])
    app.info.epilog = _epilog(program, list(examples.values())[:_SHOWN_OF_A_GROUP])
    return app


def _with_finite_numbers(command: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def checked(*context: Any, **options: Any) -> Any:
        for name, value in options.items():
            for one in value if isinstance(value, list | tuple) else (value,):
                if isinstance(one, float) and not math.isfinite(one):
                    option = f"--{name.replace('_', '-')}"
                    raise OptionError(f"{option} is {one}; give a finite number.", where=option)
        return command(*context, **options)

    checked.finite = True  # type: ignore[attr-defined]  # groups are shared between programs
    return checked


def _epilog(program: str, examples: Sequence[str]) -> str:
    shown = [f"Example: {program} {typed}".rstrip().replace("[", "\\[") for typed in examples]
    return "\n\n".join([*shown, EXIT_CODES])


OURS = {"pramana_core", "owner_agent", "miner_service", "pramana", "benchmarks"}
"""The packages whose absence no extra mends."""


def run(app: typer.Typer, extra: str = "all") -> NoReturn:
    """Run a command-line application; PramanaErrors become a message and their exit code.

    So do a file or folder that cannot be used, a full disk, and a library that is not installed,
    which the optional dependencies `extra` have.
    """
    command: Callable[..., Any] = typer.main.get_command(app)
    for stream in (sys.stdout, sys.stderr):
        # A console of another encoding shows names that it lacks by their numbers.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        command()
    except PramanaError as error:
        report_error(error)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library in OURS:
            raise
        absent = NotInstalled(
            f"This command needs {library}, which is not installed here.",
            where=extra,
            remedy=f"Install the extra: pip install 'pramana[{extra}]'.",
        )
        report_error(absent)
        sys.exit(absent.exit_code)
    except OSError as error:
        what = str(error.filename or "what the command reads or writes")
        refused: PramanaError = (
            no_room(what)
            if is_full(error)
            else OptionError(
                f"{what} cannot be used: {error.strerror or error}.",
                where=what,
                remedy="Check that it exists and that you may read and write it.",
            )
        )
        report_error(refused)
        sys.exit(refused.exit_code)
    sys.exit(0)

"""The commands' output for people and scripts: colour, width, `--json`, exit codes.

Exit codes of every command: 0 done; 1 unforeseen failure; 2 invalid usage, configuration or data;
3 a secret is missing or unsafe; 4 rejected (by the miner, by stored state, or by rights);
5 the other side did not answer; 6 the data cannot support the estimate.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_type_hints

import typer
from typer.models import OptionInfo

from pramana_core.errors import NotInstalled, OptionError, PramanaError, StorageFull
from pramana_core.full_disks import is_full

if TYPE_CHECKING:
    from rich import progress
    from rich.console import Console

MAX_WIDTH = 100

PATIENCE = 2.0
"""Seconds after which a progress bar appears."""


def console(*, stderr: bool = False) -> Console:
    """Return a console of at most `MAX_WIDTH` columns; it uses colour only on a terminal."""
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
    """Return whether a person at a terminal can answer questions; scripts use options instead."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def print_json(value: Any) -> None:
    """Write a JSON document to standard output."""
    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=plain, allow_nan=False) + "\n")


def report_error(error: PramanaError) -> None:
    """Write an error's code, message, option and remedy to standard error."""
    out = console(stderr=True)
    out.print(f"error ({error.code}): ", style="bold red", end="")
    out.print(error.message, markup=False, soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        out.print(f"  {note}", markup=False, soft_wrap=True)
    if error.remedy:
        out.print("  what to do: ", style="bold", end="")
        out.print(error.remedy, markup=False, soft_wrap=True)


class Bar:
    """A progress bar. Call it as a `Progress`, or call `stage` for work in stages."""

    def __init__(self, bar: progress.Progress, doing: str, patience: float):
        self._bar = bar
        self._task = bar.add_task(doing, total=None)
        self._patience = patience
        self._began = bar.get_time()

    def __call__(self, done: float, total: float | None) -> None:
        """Show how much of the total is done. The bar appears at once if the total is unknown."""
        self._bar.update(self._task, completed=done)
        # Rich's update ignores a total of None, so the total is set here.
        self._bar.tasks[0].total = total
        if total is None or self._bar.get_time() - self._began >= self._patience:
            self._bar.start()

    def stage(self, doing: str, done: float, total: float | None) -> None:
        """Show the current stage and its progress."""
        self._bar.update(self._task, description=doing)
        self(done, total)

    def end(self) -> None:
        """Hide the bar before other output; the next call shows it again."""
        self._bar.stop()


@contextmanager
def progress_bar(
    doing: str = "",
    *,
    patience: float = PATIENCE,
    on: Console | None = None,
    clock: Callable[[], float] | None = None,
) -> Iterator[Bar]:
    """Show a bar with the remaining time on a terminal's standard error.

    The bar appears after `patience` seconds. Tests pass another console and clock.
    """
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
    "Exit codes: 0 done; 1 unforeseen failure; 2 invalid usage, configuration or data; 3 a secret"
    " is missing or unsafe; 4 rejected; 5 the other side did not answer; 6 the data do not suffice."
)

_SHOWN_OF_A_GROUP = 3
"""The number of examples in the help of a command group."""


def application(about: str, **settings: Any) -> typer.Typer:
    """Return an application without commands. Its tracebacks show no values."""
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
    """Add an example and the exit codes to the help of every command; return the application.

    Every command then rejects options that are `nan` or `inf`. `examples` maps a command's name to
    the example command lines after `program`.
    """
    for command in app.registered_commands:
        if command.callback is not None and not hasattr(command.callback, "finite"):
            command.callback = _with_finite_numbers(command.callback)
        # In help, rich would remove [mask] as markup.
        command.help = (inspect.getdoc(command.callback) or "").replace("[", "\\[")
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
        try:
            return command(*context, **options)
        except OptionError as error:
            _name_option(command, error)
            raise

    checked.finite = True  # type: ignore[attr-defined]  # groups are shared between programs
    return checked


def _name_option(command: Callable[..., Any], error: OptionError) -> None:
    """Add a note with the option that an error is about, unless the error's text names it."""
    wrong = (error.where or "").rpartition(".")[2].replace("-", "_")
    for name, hint in get_type_hints(command, include_extras=True).items():
        for info in getattr(hint, "__metadata__", ()):
            if isinstance(info, OptionInfo) and wrong in (name, f"{name}s"):
                # Within Annotated, typer takes the first name of an option for its default.
                words = (info.default, *(info.param_decls or ()), f"--{name.replace('_', '-')}")
                option = next(str(word) for word in words if str(word).startswith("--"))
                if option not in str(error):
                    error.add_note(f"option: {option}")


def _epilog(program: str, examples: Sequence[str]) -> str:
    shown = [f"Example: {program} {typed}".rstrip().replace("[", "\\[") for typed in examples]
    return "\n\n".join([*shown, EXIT_CODES])


OURS = {"pramana_core", "owner_agent", "miner_service", "pramana", "benchmarks"}
"""Pramana's own packages, which no extra installs."""


def error_of_system(error: OSError) -> PramanaError:
    """Return the error for a file or folder that cannot be used, or for a full disk."""
    what = str(error.filename or "a file of this command")
    if is_full(error):
        return StorageFull(  # it may be standard output, after a change
            f"There is no room for {what}.",
            where=what,
            remedy="Free space on that disk, look what was changed, and try again.",
        )
    return OptionError(
        f"{what} cannot be used: {error.strerror or error}.",
        where=what,
        remedy="Check that it exists and that you have permission to read and write it.",
    )


def run(app: typer.Typer, extra: str = "all") -> NoReturn:
    """Run an application. A PramanaError becomes a message and an exit code.

    A file or folder that cannot be used, a full disk and a missing library are reported in the same
    way. The message on a missing library recommends the optional dependencies `extra`.
    """
    command: Callable[..., Any] = typer.main.get_command(app)
    for stream in (sys.stdout, sys.stderr):
        # A console with another encoding shows the names it lacks as escapes.
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
        refused = error_of_system(error)
        report_error(refused)
        sys.exit(refused.exit_code)
    sys.exit(0)

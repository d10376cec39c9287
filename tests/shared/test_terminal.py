"""The bar that every command shows to people who wait."""

import io
import json
import os
import subprocess
import sys
from typing import Annotated

import pytest
import typer
from rich.console import Console

from pramana_core import terminal
from pramana_core.errors import OptionError
from pramana_core.terminal import PATIENCE, progress_bar, with_examples


def shown(acts, *, waited=0.0, terminal=True, **options):
    """Return what a terminal shows of some work, after each act."""
    out, now = io.StringIO(), [0.0]
    console = Console(file=out, force_terminal=terminal, width=80)
    seen = []
    with progress_bar(on=console, clock=lambda: now[0], **options) as bar:
        now[0] = waited
        for act in acts:
            act(bar)
            seen.append(out.getvalue())
    return seen


@pytest.mark.parametrize(
    ("waited", "told"), [(PATIENCE - 0.1, False), (PATIENCE, True), (3 * PATIENCE, True)]
)
def test_a_bar_is_shown_only_to_those_who_wait(waited, told):
    (seen,) = shown([lambda bar: bar(1, 4)], waited=waited, doing="measuring")
    assert ("measuring" in seen) is told
    assert ("25%" in seen) is told


def test_nothing_is_shown_where_nobody_looks():
    acts = [lambda bar: bar(1, 3), lambda bar: bar.stage("looking", 1, None)]
    assert shown(acts, waited=9.0, terminal=False, doing="measuring", patience=0) == ["", ""]


def test_work_of_unknown_length_and_impatient_commands_show_it_at_once():
    before, after = shown(
        [lambda bar: bar.stage("independent", 0, 2), lambda bar: bar.stage("searching", 0, None)]
    )
    assert before == ""
    assert "searching" in after
    (seen,) = shown([lambda bar: bar(0, 2)], doing="uploading [x]", patience=0)
    assert "uploading [x]" in seen


def test_a_file_that_may_not_be_used_is_a_message_and_no_traceback(capsys, monkeypatch):
    app = typer.Typer()

    @app.command()
    def refused():
        raise PermissionError(13, "Permission denied", "/state/ledger.sqlite")

    monkeypatch.setattr("sys.argv", ["refused"])
    with pytest.raises(SystemExit) as ended:
        terminal.run(app)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "/state/ledger.sqlite cannot be used: Permission denied" in told
    assert "Traceback" not in told


def test_a_library_that_is_absent_is_named_with_its_extra(capsys, monkeypatch):
    app = typer.Typer()

    @app.command()
    def absent():
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy.orm")

    monkeypatch.setattr("sys.argv", ["absent"])
    with pytest.raises(SystemExit) as ended:
        terminal.run(app, extra="owner")
    assert ended.value.code == 4
    told = " ".join(capsys.readouterr().err.split())
    assert "needs sqlalchemy, which is not installed" in told
    assert "pip install 'pramana[owner]'" in told


def test_a_module_of_ours_that_is_absent_is_a_fault_and_no_extra(monkeypatch):
    app = typer.Typer()

    @app.command()
    def absent():
        raise ModuleNotFoundError("No module named 'owner_agent.x'", name="owner_agent.x")

    monkeypatch.setattr("sys.argv", ["absent"])
    with pytest.raises(ModuleNotFoundError):
        terminal.run(app)


SPEAKS = """
import typer
from pramana_core.errors import OptionError
from pramana_core.terminal import application, console, print_json, run

app = application("speaks")

@app.command()
def say(how: str) -> None:
    if how == "json":
        print_json({"咳嗽": "é 😀"})
    elif how == "text":
        console().print("咳嗽 é 😀")
    else:
        raise OptionError("咳嗽 é 😀", where="x")

@app.command()
def other() -> None: ...

run(app)
"""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("how", ["json", "text", "error"])
def test_a_console_of_any_encoding_shows_every_name(encoding, how):
    done = subprocess.run(
        [sys.executable, "-c", SPEAKS, "say", how],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == (2 if how == "error" else 0)
    said = (done.stderr if how == "error" else done.stdout).decode(encoding)
    assert "Traceback" not in done.stderr.decode(encoding)
    if how == "json":
        assert json.loads(said) == {"咳嗽": "é 😀"}
    else:
        assert ("咳嗽" if encoding == "utf-8" else "\\u54b3\\u55fd") in said


@pytest.mark.parametrize(
    ("where", "named"),
    [("gamma", "--gamma"), ("spec.columns", "--column"), ("in-all", "--all"), ("table", None)],
)
def test_an_error_in_an_option_names_the_option(where, named, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["program"])
    app = typer.Typer()

    @app.command()
    def work(
        table: Annotated[str, typer.Argument()] = "t",
        gamma: Annotated[float, typer.Option()] = 1.0,
        column: Annotated[str, typer.Option()] = "",
        in_all: Annotated[bool, typer.Option("--all")] = False,
    ):
        raise OptionError("It is wrong.", where=where)

    with pytest.raises(SystemExit):
        terminal.run(with_examples(app, "program", {}))
    shown = capsys.readouterr().err
    assert ("option: " in shown) is (named is not None)
    assert named is None or f"option: {named}" in shown

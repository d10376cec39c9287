"""The bar that every command shows to people who wait."""

import io
import json
import os
import subprocess
import sys

import nbformat
import pytest
import typer
from nbclient import NotebookClient
from rich.console import Console

from pramana_core import terminal
from pramana_core.terminal import PATIENCE, progress_bar
from tests.places import ROOT


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


@pytest.mark.parametrize(
    ("left", "told"),
    [(41.2, "about 42 s left"), (90, "about 90 s left"), (1000, "about 16 min left"),
     (3900, "about 1 h 5 min left")],
)  # fmt: skip
def test_who_waits_hears_how_long_it_may_still_take(left, told):
    (seen,) = shown([lambda bar: bar(1, 4, left)], waited=9.0, doing="learning")
    assert told in " ".join(seen.split())


def test_where_nobody_knows_how_long_it_takes_the_pace_tells():
    out, now = io.StringIO(), [0.0]
    console = Console(file=out, force_terminal=True, width=100)
    with progress_bar("masking", on=console, clock=lambda: now[0], patience=0) as bar:
        bar(0, 100)
        for done in (20, 40):
            now[0] += 10
            bar(done, 100)
        bar._bar.refresh()
    assert "about 30 s left" in out.getvalue()


@pytest.mark.slow
def test_a_notebook_shows_a_bar_below_its_cell_and_takes_it_away():
    """In a kernel, as a person sees it while the cell runs, and afterwards."""
    cell = (
        "from pramana_core.terminal import progress_bar\n"
        "now = [0.0]\n"
        "with progress_bar('learning <b>', clock=lambda: now[0]) as bar:\n"
        "    for done in (0, 1, 2, 3):\n"
        "        bar(done, 4, 10 - done)\n"
        "        now[0] += 1.5\n"
        "print('done')"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    seen = []
    client = NotebookClient(notebook, timeout=300, kernel_name="python3")
    looked = client.process_message

    def look(message, *rest):
        if message["msg_type"] in ("display_data", "update_display_data"):
            seen.append(message["content"]["data"])
        return looked(message, *rest)

    client.process_message = look
    path = os.pathsep.join(map(str, (ROOT, ROOT / "shared")))
    client.execute(env={**os.environ, "PYTHONPATH": path})
    assert [told["text/plain"] for told in seen] == [
        "learning <b>, 50%, about 8 s left",
        "learning <b>, 75%, about 7 s left",
        "",
    ]
    assert seen[0]["text/html"].endswith("learning &lt;b&gt;, 50%, about 8 s left")
    assert "ipywidgets" not in str(notebook)
    assert notebook.cells[0].outputs[-1]["text"] == "done\n"


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

"""The notebooks do what they are stored with, and are made of their scripts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from docs.notebooks.execute import NAMES, stored
from tests.places import ROOT

LARGEST = 400_000
"""Bytes of a stored notebook."""


def printed(notebook: nbformat.NotebookNode) -> list[tuple[str, list[str]]]:
    """Return each cell with the text it printed; of a picture, that there is one."""
    return [
        (cell.source, [_text(output) for output in cell.get("outputs", ())])
        for cell in notebook.cells
    ]


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    kinds = sorted(output.data)
    return f"{kinds} {output.data['text/plain']}"


@pytest.mark.end_to_end
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_prints_what_is_stored(name: str, tmp_path: Path):
    """Executed by a kernel of its own; `make notebooks` stores what it prints now."""
    again = tmp_path / "again.ipynb"
    done = subprocess.run(
        [sys.executable, "-m", "docs.notebooks.execute", name, "--to", str(again)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert printed(nbformat.read(again, 4)) == printed(nbformat.read(stored(name), 4))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_script(name: str):
    script = jupytext.read(stored(name).with_suffix(".py"))
    kept = nbformat.read(stored(name), 4)
    assert [(c.cell_type, c.source) for c in kept.cells] == [
        (c.cell_type, c.source) for c in script.cells
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_pictures_and_no_error_and_is_small(name: str):
    kept = nbformat.read(stored(name), 4)
    outputs = [output for cell in kept.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", ()) for output in outputs)
    assert {output.output_type for output in outputs} <= {
        "display_data", "execute_result", "stream",
    }  # fmt: skip
    assert all(output.get("name") != "stderr" for output in outputs)
    assert stored(name).stat().st_size < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_names_no_folder_of_this_machine(name: str):
    text = stored(name).read_text(encoding="utf-8")
    assert not re.search(r"/(?:home|root|tmp|work|Users)/|0x[0-9a-f]{8}", text)

"""docs/tutorial.md: its blocks run from an empty folder and print what the page shows.

`PRAMANA_WRITE_TUTORIAL=1 pytest tests/examples` writes what they print, and the pictures, anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import blocks
from tests.places import ROOT

PAGE = ROOT / "docs" / "tutorial.md"
WRITE = bool(os.environ.get("PRAMANA_WRITE_TUTORIAL"))
OPTIONAL = re.compile(
    r"^(?:import|from) (sklearn|pgmpy|pyagrum|networkx|polars|mlxtend)", re.MULTILINE
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[blocks.Block, str]]:
    here, folder = Path.cwd(), tmp_path_factory.mktemp("tutorial")
    text = PAGE.read_text(encoding="utf-8")
    os.chdir(folder)
    try:
        made = list(blocks.run_page(text, PAGE.name))
    finally:
        os.chdir(here)
    if WRITE:
        PAGE.write_text(blocks.with_printed(text, [now for _, now in made]), encoding="utf-8")
        for picture in folder.glob("*.png"):
            shutil.copy(picture, ROOT / "docs" / "images" / f"tutorial-{picture.name}")
    return made


@pytest.mark.slow
def test_the_tutorial_prints_what_it_shows(said: list[tuple[blocks.Block, str]]):
    for block, printed in said:
        assert printed == (block.printed or ""), f"line {block.line} of the tutorial"


def test_the_tutorial_needs_nothing_but_what_is_installed_with_pramana():
    text = PAGE.read_text(encoding="utf-8")
    assert [b.line for b in blocks.blocks(text) if OPTIONAL.search(b.code)] == []


def test_what_the_tutorial_shows_is_compared(tmp_path: Path):
    """A page that shows something else than it prints is found, as the wheel's test runs it."""
    page = tmp_path / "page.md"
    shown = "```python\nprint(6 * 7)\n```\n\n```text\n{}\n```\n"
    command = [sys.executable, blocks.__file__, str(page)]
    for answer, code in (("42", 0), ("43", 1)):
        page.write_text(shown.format(answer))
        assert subprocess.run(command, check=False, capture_output=True).returncode == code

"""Pages whose blocks run from an empty folder and print what stands below them.

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

PAGES = [ROOT / "docs" / "start-analyst.md"]
WRITE = bool(os.environ.get("PRAMANA_WRITE_TUTORIAL"))
OPTIONAL = re.compile(r"^(?:import|from) (sklearn|pgmpy|networkx|polars|mlxtend)", re.MULTILINE)


@pytest.fixture(scope="module", params=PAGES, ids=lambda page: page.stem)
def said(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[blocks.Block, str]]:
    page: Path = request.param
    here, folder = Path.cwd(), tmp_path_factory.mktemp(page.stem)
    text = page.read_text(encoding="utf-8")
    os.chdir(folder)
    try:
        made = list(blocks.run_page(text, page.name))
    finally:
        os.chdir(here)
    if WRITE:
        page.write_text(blocks.with_printed(text, [now for _, now in made]), encoding="utf-8")
        for picture in folder.glob("*.png"):
            shutil.copy(picture, ROOT / "docs" / "images" / f"{page.stem}-{picture.name}")
    return made


@pytest.mark.slow
def test_a_page_prints_what_it_shows(said: list[tuple[blocks.Block, str]]):
    for block, printed in said:
        assert printed == (block.printed or ""), f"line {block.line} of the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_needs_nothing_but_what_is_installed_with_pramana(page: Path):
    text = page.read_text(encoding="utf-8")
    assert [b.line for b in blocks.blocks(text) if OPTIONAL.search(b.code)] == []


def test_what_a_page_shows_is_compared(tmp_path: Path):
    """A page that shows something else than it prints is found, as the wheel's test runs it."""
    page = tmp_path / "page.md"
    shown = "```python\nprint(6 * 7)\n```\n\n```text\n{}\n```\n"
    command = [sys.executable, blocks.__file__, str(page)]
    for answer, code in (("42", 0), ("43", 1)):
        page.write_text(shown.format(answer))
        assert subprocess.run(command, check=False, capture_output=True).returncode == code

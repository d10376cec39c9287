"""docs/model-sharing.md: its blocks run in order, and print what the page shows.

`PRAMANA_WRITE_TUTORIAL=1 pytest tests/examples` writes what they print anew.
"""

from __future__ import annotations

import os

import pytest

from tests.examples import blocks
from tests.places import ROOT

PAGE = ROOT / "docs" / "model-sharing.md"


@pytest.mark.slow
def test_the_blocks_print_what_the_page_shows():
    text = PAGE.read_text(encoding="utf-8")
    done = list(blocks.run_page(text, PAGE.name))
    if os.environ.get("PRAMANA_WRITE_TUTORIAL"):
        PAGE.write_text(blocks.with_printed(text, [said for _, said in done]), encoding="utf-8")
    for block, said in done:
        assert said == (block.printed or ""), f"line {block.line}"

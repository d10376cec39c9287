"""The site as `make docs` builds it: no broken link, every public name, nothing from outside."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from docs.pages import public_names
from tests.places import ROOT

pytestmark = pytest.mark.end_to_end

LOADED = (
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=[\"']?([^\"'\s>]+)",
    r"<link\b[^>]*?\shref=[\"']?([^\"'\s>]+)",
    r"@import\s+(?:url\()?[\"']?([^\"')\s]+)",
    r"url\([\"']?([^\"')\s]+)",
    r"""\brequire\.config|\bimport\(["']([^"']+)""",
)
"""What a browser loads by itself: not links that a person follows."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built with every warning as an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def outside(text: str) -> list[str]:
    """Return what a page or style sheet loads from other hosts."""
    found = [target for pattern in LOADED for target in re.findall(pattern, text)]
    return [target for target in found if re.match(r"(?:https?:)?//", target)]


def test_every_public_name_has_its_place(site: Path):
    pages = "".join(path.read_text("utf-8") for path in (site / "reference").glob("*.html"))
    anchors = set(re.findall(r'id="pramana\.(\w+)"', pages))
    assert anchors == set(public_names())


def test_no_name_is_described_twice(site: Path):
    pages = "".join(path.read_text("utf-8") for path in (site / "reference").glob("*.html"))
    anchors = re.findall(r'<h2 id="(pramana\.\w+)"', pages)
    assert sorted(anchors) == sorted(set(anchors))


def test_defaults_are_values(site: Path):
    """Not names of constants in the code, which nobody who reads the page has."""
    for path in (site / "reference").glob("*.html"):
        for shown in re.findall(r"<code>(.*?)</code>", path.read_text("utf-8"), re.DOTALL):
            text = unescape(re.sub(r"<[^>]+>", "", shown))
            assert not re.search(r"=\s*(?:\w*Options|\w*Search|[A-Z_]{4,})\b", text), (path, text)


def test_nothing_is_loaded_from_outside(site: Path):
    pages = [path for kind in ("*.html", "*.css") for path in site.rglob(kind)]
    assert len(pages) > 20
    for path in pages:
        assert outside(path.read_text("utf-8")) == [], path.relative_to(site)


def test_what_is_loaded_from_outside_is_seen():
    assert outside('<script defer src="https://cdn.example.org/x.js">') == [
        "https://cdn.example.org/x.js"
    ]
    assert outside("@import url(//fonts.example.org/css)") != []
    assert outside('<a href="https://example.org">') == []


def test_code_is_no_page(site: Path):
    assert not list(site.rglob("*.py"))
    assert not list(site.rglob("*.ipynb"))

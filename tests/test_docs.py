"""What the documents say is so: their Python runs, their files exist, their targets are there."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.rooms import modules
from tests.places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_make_targets_exist(page: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert commands <= targets


def test_the_readme_example_runs(capsys: pytest.CaptureFixture[str]):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert "se_population" in said
    assert "survived" in said
    assert "DecisionTree(" in said


def test_the_names_of_the_glossary_are_in_the_code():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", page, re.MULTILINE)[2:]
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules().values())
    words = set(re.findall(r"\w+", source))
    assert len(rows) >= 30
    assert [term for term, _ in rows] == sorted((term for term, _ in rows), key=str.lower)
    for term, names in rows:
        assert set(re.findall(r"`(\w+)`", names)) <= words, term


IMPORTED = re.compile(
    r"^(?:>>> )?from ((?:pramana|pramana_core|owner_agent|miner_service|benchmarks)[\w.]*)"
    r" import (\([\w\s,]+\)|[\w ,]+)$",
    re.MULTILINE,
)


def test_what_programs_inside_strings_and_pages_import_is_there():
    """Programs that a test hands to another process are strings: no linter reads them."""
    missing = set()
    for path in [*PAGES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]:
        for module, names in IMPORTED.findall(path.read_text(encoding="utf-8")):
            for name in filter(None, (n.split(" as ")[0].strip(" ()\n") for n in names.split(","))):
                if (
                    not hasattr(import_module(module), name)
                    and find_spec(f"{module}.{name}") is None
                ):
                    missing.add(f"{path.relative_to(ROOT)}: {module} has no {name}")
    assert not missing


def test_nothing_names_a_host_to_install_from():
    """The locks pin versions and hashes; where packages come from is each machine's business."""
    for lock in ROOT.glob("requirements*.lock"):
        text = lock.read_text()
        assert "--index-url" not in text
        assert "://" not in text
        assert text.count("--hash=sha256:") >= len(re.findall(r"^[a-z]", text, re.MULTILINE))


def test_the_changelog_has_the_version():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert f"## {version.group(1)}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_files_that_a_page_names_are_there(page: Path):
    """A name without its folder must be the name of some module."""
    text = page.read_text(encoding="utf-8")
    files = [path.relative_to(ROOT) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    folders = {parent.as_posix() for path in files for parent in path.parents}
    rooms = r"`((?:tests|shared|owner_agent|miner_service|pramana)/[\w/]+)/?`"
    named = {name.rstrip("/") for name in re.findall(rooms, text)}
    assert {name for name in named - folders if not (ROOT / name).is_dir()} == set()
    for name in set(re.findall(r"`([\w./]+\.py)`", text)):
        assert any(f"/{path.as_posix()}".endswith(f"/{name}") for path in files), name

"""What the documents say is so: their Python runs, their files exist, their targets are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.rooms import PACKAGES, modules
from tests.places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/*.md")])


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as links write them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_make_targets_exist(page: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^ {4}|`)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert commands <= targets


def test_the_first_result_of_the_readme_is_what_its_example_prints(
    capsys: pytest.CaptureFixture[str],
):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert example in (ROOT / "examples" / "first.py").read_text(encoding="utf-8")
    exec(compile(example, "README.md", "exec"), {})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = [line.split() for line in text.splitlines() if line.startswith("    ")]
    assert len(rows) == 5
    assert [row for row in rows if row not in shown] == []


def test_the_step_of_the_study_plan_is_said_alike_on_every_start_page():
    said = set()
    for page in sorted((ROOT / "docs").glob("start-*.md")):
        words = " ".join(page.read_text(encoding="utf-8").split())
        (step,) = re.findall(r"The operator or a custodian designs.*?plan\.json`,.*?json`\.", words)
        said.add(step)
    assert len(said) == 1


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


def test_the_newest_version_of_the_changelog_is_the_project_s():
    project = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    newest = re.search(r"^## ([^ :]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert project
    assert newest
    assert newest.group(1) == project.group(1)


def test_what_never_leaves_is_said_the_same_on_every_page():
    pages = ("README.md", "docs/threat-model.md", "docs/owner-guide.md", "docs/start-custodian.md")
    texts = [" ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in pages]
    statement = r"\*\*What never leaves an owner\*\*: .*?trees\)\."
    assert len({tuple(re.findall(statement, text)) for text in texts}) == 1
    assert all(len(re.findall(statement, text)) == 1 for text in texts)


@cache
def programs() -> list[Path]:
    """The files of Python, as the root names them, without those of environments."""
    own = (path for path in ROOT.iterdir() if path.is_dir() and path.name[0] != ".")
    return [path.relative_to(ROOT) for folder in own for path in folder.rglob("*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_files_that_a_page_names_are_there(page: Path):
    """A name without its folder must be the name of some module."""
    text, files = page.read_text(encoding="utf-8"), programs()
    folders = {parent.as_posix() for path in files for parent in path.parents}
    rooms = r"`((?:tests|shared|owner_agent|miner_service|pramana)/[\w/]+)/?`"
    named = {name.rstrip("/") for name in re.findall(rooms, text)}
    assert {name for name in named - folders if not (ROOT / name).is_dir()} == set()
    for name in set(re.findall(r"`([\w./]+\.py)`", text)):
        assert any(f"/{path.as_posix()}".endswith(f"/{name}") for path in files), name


FILES = modules()

TICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
"""What is in single backticks; names that are not of this project stand in double ones."""


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def defined(module: str) -> frozenset[str]:
    """The functions, classes, methods (also as `Class.method`) and constants of a module."""
    found: set[str] = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    for node in tree(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def is_there(name: str) -> bool:
    """Is a dotted name a module of ours, or what one has?"""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        if module in FILES:
            found = None if FILES[module].name == "__main__.py" else import_module(module)
            for part in parts[count:]:
                found = getattr(found, part, None)
            return count == len(parts) or found is not None
    return False


@pytest.mark.slow
def test_the_rooms_that_pages_and_modules_name_are_there():
    """By their dotted names and as folders; what the code itself writes with a slash is no room."""
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
    texts |= {m: path.read_text(encoding="utf-8") for m, path in FILES.items()}
    said = {
        node.value.strip("/")
        for module in FILES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    folders = [place for path in set(FILES.values()) for place in path.parent.glob("*/")]
    places = {
        f"/{path.relative_to(ROOT).with_suffix('').as_posix()}"
        for path in [*FILES.values(), *folders]
    }
    dotted = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.(?!(?:py|json|toml)\b)\w+)+")
    missing = set()
    for where, text in texts.items():
        for name in set(TICKED.findall(text)):
            folder = name.rstrip("/")
            if dotted.fullmatch(name.removesuffix("()")):
                if not is_there(name.removesuffix("()")):
                    missing.add((where, name))
            elif re.fullmatch(r"[a-z_]\w*(/[a-z]\w*)*", folder) and "/" in name:
                known = (ROOT / folder).exists() or folder in said
                if not known and not any(place.endswith(f"/{folder}") for place in places):
                    missing.add((where, name))
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_tables_say_of_a_file_is_in_it(page: Path):
    """Rows of a step, the file that takes it, and what does it there."""
    files = {path.relative_to(ROOT).as_posix(): module for module, path in FILES.items()}
    text = page.read_text(encoding="utf-8")
    rows = re.findall(r"\| `([\w/]+\.py)` \| (`.+`) \|$", text, re.MULTILINE)
    assert rows or page.name != "architecture.md"
    for file, names in rows:
        assert file in files, f"{page.name} names {file}"
        for name in TICKED.findall(names):
            assert name in defined(files[file]), f"{page.name}: {file} has no {name}"


def test_what_is_not_there_is_missed():
    """The negative control of the tests above."""
    module = "pramana_core.mask.catalogue"
    assert is_there("pramana_core.mask.catalogue.METHODS")
    assert not is_there("pramana_core.mask.catalogue.gone")
    assert not is_there("pramana_core.gone")
    assert {"METHODS", "Baseline"} - defined(module) == {"Baseline"}

"""What `make dist` builds: the same bytes everywhere, all in it, and the first hour runs far away.

The environment is empty but for the wheel and what its metadata asks for, which is linked from
where the tests run and not downloaded; what only developers have is not there.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from docs.rooms import PLACES, PRODUCT
from tests.places import ROOT

pytestmark = pytest.mark.end_to_end
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def run(folder: Path, *words: str | Path) -> str:
    """Run a program in a folder, with nothing of ours around it; return what it prints."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two folders that `make dist` filled, in clones that differ in place, modes and times.

    The clones are of one commit, which has the files as they are, committed or not.
    """
    if absent := [tool for tool in ("git", "make", "sha256sum") if shutil.which(tool) is None]:
        pytest.skip(f"`make dist` needs {' and '.join(absent)}")
    home = tmp_path_factory.mktemp("builds")
    git = ("git", "--git-dir", home / "git", "--work-tree", ROOT)
    named = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    run(home, "git", "init", "--quiet", "--bare", home / "git")
    run(home, *git, "add", "--all")
    run(home, *git, *named, "commit", "--quiet", "--message", "all files")
    make = ("make", "--old-file", ".venv/.installed", f"BIN={Path(sys.executable).parent}", "dist")
    for name, umask in (("one", "022"), ("another/clone", "077")):
        run(home, "sh", "-c", f"umask {umask} && git clone --quiet git {name}")
        for old, path in enumerate((home / name).rglob("*.py")):
            os.utime(path, (old, old))
        run(home / name, "sh", "-c", f'umask {umask} && exec "$@"', "sh", *make)
    return [home / "one/dist", home / "another/clone/dist"]


@pytest.fixture(scope="module")
def wheel(builds: list[Path]) -> Path:
    """Return the wheel."""
    (built,) = builds[0].glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the wheel and what it requires."""
    home = tmp_path_factory.mktemp("elsewhere")
    run(home, sys.executable, "-m", "venv", "--without-pip", home / "venv")
    python = home / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(home, *pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (libraries,) = (home / "venv" / "lib").glob("python*/site-packages")
    for place in required("pramana"):
        (libraries / place.name).symlink_to(place)
    return python


def required(package: str) -> set[Path]:
    """Return what all that a package requires has put into site-packages, extras left out."""
    waiting, seen, places = [package], {package}, set[Path]()
    while waiting:
        known = importlib.metadata.distribution(waiting.pop())
        for line in known.requires or ():
            asked = Requirement(line)
            if asked.name not in seen and (
                not asked.marker or asked.marker.evaluate({"extra": ""})
            ):
                seen.add(asked.name)
                waiting.append(asked.name)
        if known.metadata["Name"] != package:
            tops = {file.parts[0] for file in known.files or ()} - {"..", "__pycache__"}
            places |= {Path(str(known.locate_file(top))) for top in tops}
    return places


def test_everything_is_in_the_wheel(wheel: Path):
    """Code, types, templates: whatever lies in the packages, but for caches."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name}
    there = {
        path.relative_to(PLACES[package]).as_posix()
        for package in PRODUCT
        for path in (PLACES[package] / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == there
    assert {"pramana/__init__.pyi", "pramana/py.typed", "pramana_core/py.typed"} <= inside


def test_two_clones_build_the_same_bytes(builds: list[Path]):
    one, another = ({path.name: path.read_bytes() for path in made.iterdir()} for made in builds)
    assert set(one) == {f"pramana-{VERSION}.tar.gz", f"pramana-{VERSION}-py3-none-any.whl"}
    assert one == another


def test_the_sources_are_all_files_of_the_commit_with_plain_modes(builds: list[Path]):
    (sdist,) = builds[0].glob("*.tar.gz")
    with tarfile.open(sdist) as opened:
        members = [member for member in opened if member.isfile()]
    inside = {member.name.partition("/")[2] for member in members}
    assert inside >= set(run(builds[0].parent, "git", "ls-files").splitlines())
    assert {member.mode for member in members} == {0o644, 0o755}
    assert {(member.uid, member.uname) for member in members} == {(0, "")}


def test_the_first_hour_runs_from_the_wheel(python: Path, tmp_path: Path):
    page = (ROOT / "docs" / "start-analyst.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    where = "import pramana, pramana_core; print(pramana.__file__); print(pramana_core.__file__)\n"
    (tmp_path / "first_hour.py").write_text(where + "\n".join(blocks), encoding="utf-8")
    said = run(tmp_path, python, "-I", "first_hour.py")
    assert all(Path(line).is_relative_to(python.parents[1]) for line in said.split()[:2])
    assert len(blocks) >= 8
    assert "se_population" in said


def test_experiments_are_run_from_a_checkout(python: Path, tmp_path: Path):
    done = subprocess.run(
        [python.parent / "pramana", "reproduce"],
        cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Run them from a checkout" in " ".join(done.stderr.split())


def test_the_commands_are_there(python: Path, tmp_path: Path):
    for command in ("pramana", "owner-agent", "miner-service"):
        assert "Usage" in run(tmp_path, python.parent / command, "--help")
        assert run(tmp_path, python.parent / command, "--version") == f"pramana {VERSION}\n"

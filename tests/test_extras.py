"""The face and the mathematics run without what owners and miners need; those say what they need.

Each program runs in a process that refuses the libraries of both extras, as if they were absent.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ALWAYS = {Requirement(line).name for line in PROJECT["dependencies"]}
MODULES = {"prometheus-client": "prometheus_client"}
BEYOND = {
    MODULES.get(name, name)
    for side in ("owner", "miner")
    for name in (Requirement(line).name for line in EXTRAS[side])
} | {"starlette"}
REFUSE = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(BEYOND)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
ESTIMATED = """
import pramana as pm
people = pm.example("titanic")
domain = pm.domain(people, pm.observed_categories(people))
design = pm.design(domain, len(people), gamma=19, learn="classifier", target="survived")
reports = pm.randomize(people, design.plan, pm.Keys.for_experiments(1), record_id=people.index)
print(pm.estimate(reports).table(["sex", "survived"]))
print(pm.DecisionTree("survived").fit(reports))
for name in dir(pm):
    getattr(pm, name)
print("all names are there")
"""


def without(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program where the libraries of both extras are absent."""
    return subprocess.run(
        [sys.executable, "-c", REFUSE + script, *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_extras_are_what_is_refused():
    assert {"fastapi", "uvicorn", "sqlalchemy", "psycopg"} <= BEYOND
    assert not BEYOND & ALWAYS
    (both,) = EXTRAS["all"]
    assert Requirement(both).extras == set(EXTRAS) - {"all", "dev", "fast"}
    developed = {Requirement(line).name for line in EXTRAS["dev"]}
    assert all(Requirement(line).name in developed for line in EXTRAS["owner"] + EXTRAS["miner"])
    assert "No module named" in without("import fastapi").stderr


@pytest.mark.slow
def test_estimates_estimators_and_every_public_name_are_there_without_them():
    done = without(ESTIMATED)
    assert done.returncode == 0, done.stderr
    assert "learned from 2,201 records" in done.stdout
    assert "all names are there" in done.stdout


@pytest.mark.slow
def test_a_simulation_does_without_them(tmp_path: Path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "x,0\ny,1\nx,1\ny,0\n" * 50, encoding="utf-8")
    words = ("simulate", "decision-tree", "--table", str(table), "--target", "b", "--p", "0.1")
    done = without("from pramana.cli import main; main()", *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("owner_agent.cli.main", ("serve", "--site", "site.toml"), "owner"),
        ("miner_service.cli.main", ("serve", "--data", "miner"), "miner"),
    ],
)
def test_a_service_says_which_extra_it_needs(
    module: str, words: tuple[str, ...], extra: str, tmp_path: Path
):
    place = str(tmp_path / words[-1])
    done = without(f"from {module} import main; main()", *words[:-1], place)
    assert done.returncode == 4, done.stderr
    assert f"pip install 'pramana[{extra}]'" in " ".join(done.stderr.split())

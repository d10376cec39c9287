"""From owners' tables alone to a model that the analyst has: by commands alone, which are counted.

The page docs/vertical-study.md shows the same commands.
"""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from pramana.demo.processes import Processes
from tests.end_to_end.conftest import run_command
from tests.end_to_end.test_vertical_study import CATEGORIES, OWNERS, TRAINED, ended, table_of
from tests.places import DATA

pytestmark = [pytest.mark.end_to_end, pytest.mark.public_data]

SCENT = ("odor", "bruises", "spore-print-color", "population", "habitat")
"""Which columns of the mushrooms one of their two owners has; the other has all others."""


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Run a command in a folder, as its owner does, and count it; a miner is served."""
    folder = tmp_path / "miner"
    folder.mkdir()
    logs = tmp_path / "logs"
    logs.mkdir()
    with Processes(logs) as processes:
        token = folder / "admin.token"
        url = processes.serve(
            "miner",
            "miner_service",
            *("serve", "--data", str(folder / "miner-data"), "--admin-token-file", str(token)),
        )
        call = Typed(tmp_path, url, monkeypatch)
        yield call


class Typed:
    """The commands that were run, `serve` first."""

    def __init__(self, root: Path, url: str, monkeypatch: pytest.MonkeyPatch):
        self.root, self.url, self._monkeypatch = root, url, monkeypatch
        self.lines = ["miner-service serve"]

    def __call__(self, folder: str, module: str, *words: object, code: int = 0) -> str:
        self.lines.append(" ".join([module, *map(str, words)]))
        self._monkeypatch.chdir(self.root / folder)
        return ended(run_command(module, *map(str, words)), code)


def learn(typed, owners, public, kind, target, records):
    """Type all that leads from tables to a model; return the model's document."""
    names = list(owners)
    for name in names:
        words = ("--owner", name, *public.get(name, ()), "--yes")
        said = typed(name, "owner_agent", "init", "table.csv", *words)
        assert f"Wrote {name}.public.toml, the public part" in said
    parts = [f"../{name}/{name}.public.toml" for name in names]
    need = ("--learn", kind, "--target", target, "--gamma", "19", "--records", records)
    said = typed("miner", "owner_agent", "design", *parts, *need, "--write-study-plan", "plan.json")
    assert f"of {len(names)} owners: gamma 19 about a record over all of them" in said
    said = typed(
        "miner", "miner_service", "study", "create", "trial", "--owners", ",".join(names),
        "--people", "same", "--plan", "plan.json", "--access-file", "analyst.json",
        "--url", typed.url, "--data", "miner-data",
    )  # fmt: skip
    assert "The plan of study trial is agreed on." in said
    for name in names:
        invitation = f"../miner/trial-{name}.invitation"
        first = name == names[0]
        how = ("--new-linkage" if first else "--linkage", "../linkage.key")
        said = typed(name, "owner_agent", "join", invitation, *how, "--yes")
        assert f"bounds what {len(names)} owners" in said
        assert "is sealed" in typed(name, "owner_agent", "publish", "--yes")
    said = typed(
        "miner", "pramana", "study", "run", "bayes-classifier", "--target", target,
        "--set", "model=naive-bayes", "--set", "estimator=pooled", "--out", "model.json",
    )  # fmt: skip
    assert "Wrote model.json" in said
    return json.loads((typed.root / "miner" / "model.json").read_text())


def referred(root, owners):
    """Return the parts of the site files that are not what `init` wrote: a reference alone."""
    for name in owners:
        text = (root / name / "site.toml").read_text()
        after = text[text.index("[miner]") :]
        yield [line.split(" ")[0] for line in after.splitlines() if line]


def test_nursery_at_three_owners_takes_at_most_14_commands(typed):
    path = DATA / "nursery.csv.gz"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    with gzip.open(path, "rt") as file:
        rows = [{**row, "id": f"C{i:05d}"} for i, row in enumerate(csv.DictReader(file))]
    order = np.random.default_rng(4).permutation(len(rows))
    learned, held_out = [rows[i] for i in order[:TRAINED]], [rows[i] for i in order[TRAINED:]]
    for seed, (name, names) in enumerate(OWNERS.items()):
        (typed.root / name).mkdir()
        (typed.root / name / "table.csv").write_text(table_of(learned, names, seed))
    # Hardly any child was recommended: that there is such a decision is public, and she says it.
    public = {"care": ("--categories", f"class={','.join(CATEGORIES['class'])}")}
    model = learn(typed, OWNERS, public, "classifier", "class", TRAINED)
    assert len(typed.lines) <= 14, typed.lines
    for keys in referred(typed.root, OWNERS):
        assert keys == ["[miner]", "url", "study", "[study_plan]", "file", "digest"]

    held = typed.root / "miner" / "held-out.csv"
    held.write_text(table_of(held_out, tuple(CATEGORIES)))
    words = ("predict", "model.json", "held-out.csv", "--record-id", "id", "--out", "told.csv")
    typed("miner", "owner_agent", *words)
    with (held.parent / "told.csv").open() as file:
        told = {row["id"]: row["class"] for row in csv.DictReader(file)}
    right = np.mean([told[row["id"]] == row["class"] for row in held_out])
    usual = np.mean([row["class"] == "not_recom" for row in held_out])
    assert right > usual + 0.15
    assert model


def test_mushroom_at_two_owners_takes_at_most_10_commands(typed):
    path = DATA / "mushroom.csv"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    with path.open() as file:
        rows = [{**row, "id": f"M{i:05d}"} for i, row in enumerate(csv.DictReader(file))]
    look = tuple(name for name in rows[0] if name not in (*SCENT, "id"))
    owners = {"look": look, "scent": SCENT}
    for seed, (name, names) in enumerate(owners.items()):
        (typed.root / name).mkdir()
        (typed.root / name / "table.csv").write_text(table_of(rows, names, seed))
    # Few mushrooms have some of these shapes and surfaces, which every guide lists.
    lists = ("--categories", "cap-shape=b,c,f,k,s,x", "--categories", "cap-surface=f,g,s,y")
    learn(typed, owners, {"look": lists}, "classifier", "class", len(rows))
    assert len(typed.lines) <= 10, typed.lines
    for keys in referred(typed.root, owners):
        assert keys == ["[miner]", "url", "study", "[study_plan]", "file", "digest"]

"""`pramana simulate model-sharing`: folds and owners by counting, cells, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pramana.cli import app
from pramana.simulate.model_sharing_options import COMBINING, SimulationOptions
from pramana.simulate.model_sharing_simulation import (
    FoldResult,
    PreparedTable,
    Simulation,
    simulate,
)
from pramana.simulate.model_sharing_tables import SharingTable, read_sharing_table, sharing_table
from pramana_core.errors import EmptyTable, MissingColumn, PramanaError, TableError
from pramana_core.model_sharing.global_models.measures import path_match
from pramana_core.model_sharing.growing import GrowthOptions, grow_tree
from pramana_core.model_sharing.requirements import Requirement


def made(records: int = 240, seed: int = 1) -> pd.DataFrame:
    """A class that two columns tell but for a tenth, and a number that tells a little."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, records), rng.integers(0, 2, records)
    told = np.where((a == 0) | (b == 1), "yes", "no")
    wrong = rng.random(records) < 0.1
    told = np.where(wrong, np.where(told == "yes", "no", "yes"), told)
    number = np.round(rng.normal(0, 1, records) + (told == "yes"), 2)
    frame = pd.DataFrame({"a": a, "b": b, "number": number, "told": told}).astype(str)
    frame["a"] = "a" + frame["a"]
    return frame


@pytest.fixture(scope="module")
def table() -> SharingTable:
    return sharing_table(made(), "told", "made")


QUICK = SimulationOptions(owners=2, folds=3)


def test_a_table_keeps_numbers_and_leaves_incomplete_records_out(tmp_path: Path):
    frame = made(40)
    frame["one"] = "same"
    frame.loc[3, "a"] = "?"
    frame.loc[7, "number"] = ""
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    read = read_sharing_table(path, "told")
    assert read.records.records == 38
    assert read.records.numeric == ("b", "number")
    assert read.records.names == ("a", "b", "number", "told")
    assert read.note == (
        "2 records with cells that are empty or '?' were removed."
        " Columns of one value were removed: one."
    )


@pytest.mark.parametrize(
    ("change", "target", "error"),
    [
        (lambda f: f, "no such", MissingColumn),
        (lambda f: f.assign(a="?"), "told", EmptyTable),
        (lambda f: f.assign(told="yes"), "told", TableError),
        (lambda f: f, "number", TableError),
        (lambda f: f[["told"]], "told", TableError),
    ],
)
def test_tables_that_cannot_serve_are_refused(change, target: str, error: type[PramanaError]):
    with pytest.raises(error) as caught:
        sharing_table(change(made(60)), target, "made")
    assert str(caught.value)


def test_folds_and_owners_part_the_records(table: SharingTable):
    """Each record is held out once in a run, and each other one is of one owner in each fold."""
    kept, options = PreparedTable(table), SimulationOptions(owners=4, folds=5, runs=2)
    folds = kept.folds(options)
    assert len(folds) == 10
    for run in (0, 1):
        held = np.concatenate([fold.test for fold in folds if fold.run == run])
        assert sorted(held) == list(range(240))
    assert not np.array_equal(folds[0].test, folds[5].test)
    for fold in folds[:2]:
        parts = kept.owners(fold, options)
        assert sorted(np.concatenate([fold.test, *parts])) == list(range(240))
        assert {len(part) for part in parts} == {48}


def test_one_owner_of_all_records_has_the_global_basis_tree(table: SharingTable):
    """Its tree is what is learned at one place before that is cut back."""
    kept, options = PreparedTable(table), replace(QUICK, owners=1)
    uncut = GrowthOptions(seed=options.seed)
    for fold in kept.folds(options):
        (own,) = kept.trees(fold, options)
        records, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
        everywhere = grow_tree(kept.schema, records, codes, uncut)
        assert own is not None
        assert path_match(own, everywhere) == 1.0
    pooled = simulate(table, replace(QUICK, method="pooled"))
    assert all(fold.accuracy == fold.basis_accuracy for fold in pooled.folds)


@pytest.mark.parametrize("method", COMBINING)
def test_every_way_is_measured_and_beats_the_most_frequent_class(table: SharingTable, method: str):
    found = simulate(table, replace(QUICK, method=method))
    assert len(found.folds) == 3
    assert found.spread("accuracy")["mean"] > found.spread("majority")["mean"]
    assert (found.refused, found.without_model) == (0, 0)
    tree = method != "votes"
    assert all((fold.path_match is not None) == tree for fold in found.folds)
    drawn = method in ("pgen", "basegen", "labelled")
    assert all((fold.pseudo_records is not None) == drawn for fold in found.folds)


@pytest.mark.parametrize("by", ["pruning", "growing"])
@pytest.mark.parametrize("requirement", [Requirement(k=79), Requirement(c=0.1, l=2)], ids=str)
def test_a_requirement_that_nobody_meets_counts_as_the_most_frequent_class(
    table: SharingTable, requirement: Requirement, by: str
):
    found = simulate(table, replace(QUICK, requirement=requirement, by=by))
    assert (found.refused, found.without_model) == (6, 3)
    for fold in found.folds:
        assert fold.accuracy == fold.majority
        assert not fold.learned
        assert (fold.leaves, fold.path_match) == (None, None)
    told = found.as_dict()
    assert told["leaves"] == {"mean": None, "sd": None}
    json.dumps(told, allow_nan=False)


def test_private_trees_repeat_by_seed(table: SharingTable):
    one, again, other = (
        timeless(simulate(table, replace(QUICK, epsilon=5.0, seed=seed))) for seed in (1, 1, 2)
    )
    assert one == again != other


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["simulate", "model-sharing", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    made().to_csv(path, index=False)
    return path


def test_the_command_measures_as_it_is_asked(file: Path):
    asked = ["owners=2", "method=pgen", "k=5", "l=2", "c=9", "global=tree", "folds=3"]
    given = [word for one in asked for word in ("--set", one)] + ["--runs", "2", "--seed", "4"]
    command = ["--table", str(file), "--target", "told", *given]
    code, said = run(*command)
    assert code == 0, said
    assert "240 records, target told, 2 owners, pgen, global tree" in said
    found = json.loads(run(*command, "--json")[1])
    for name in ("accuracy", "class_match", "path_match"):
        assert set(found[name]) == {"mean", "sd"}
    rows = found["folds"]
    assert len(rows) == 6
    right = [row["accuracy"] for row in rows]
    assert found["accuracy"]["mean"] == pytest.approx(np.mean(right))
    assert found["accuracy"]["sd"] == pytest.approx(np.std(right, ddof=1))
    assert (found["options"]["k"], found["options"]["c"], found["options"]["l"]) == (5, 9, 2)
    assert found["options"]["exact"] is False
    assert found["trees"] == 12


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (["--target", "nobody"], "--target"),
        (["--target", "told", "--set", "k=0"], "--set"),
        (["--target", "told", "--set", "least_gain=3"], "--set"),
        (["--target", "told", "--set", "c=3"], "--set"),
        (["--target", "told", "--set", "folds=1"], "--set"),
        (["--target", "told", "--set", "method=ldiversity"], "--set"),
        (["--target", "told", "--p", "0.1"], "--table"),
    ],
)
def test_wrong_commands_end_with_2(file: Path, wrong: list[str], where: str):
    done = CliRunner().invoke(app, ["simulate", "model-sharing", "--table", str(file), *wrong])
    assert isinstance(done.exception, PramanaError), done.output
    assert done.exception.exit_code == 2
    assert done.exception.where == where


def timeless(found: Simulation) -> list[FoldResult]:
    return [replace(fold, seconds=0.0) for fold in found.folds]

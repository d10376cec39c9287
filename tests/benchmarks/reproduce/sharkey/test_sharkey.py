"""The experiments on shared trees: what their verdicts can and cannot say, and that they draw."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.run import png, select
from benchmarks.reproduce.sharkey import cells as sharkey_cells
from benchmarks.reproduce.sharkey import choice, figures
from benchmarks.reproduce.sharkey.cells import (
    PUBLISHED,
    REQUIREMENTS,
    SOURCES,
    Cell,
    label,
    recorded,
    run_cells,
    taxonomies,
    value,
)
from benchmarks.reproduce.sharkey.choice import FoldTrials, source_of
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import PreparedTable
from pramana.simulate.model_sharing_tables import sharing_table
from pramana_core.plan import Plan

DATA = Path(os.environ.get("PRAMANA_DATA", "../shared/data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public tables are not there")


def test_a_papers_name_stands_for_its_experiments():
    names = [e.name for e in select(["sharkey"])]
    assert names == ["sharkey-5", "sharkey-6", "sharkey-7", "sharkey-choice"]


def test_every_requirement_of_the_paper_has_recorded_levels():
    kept = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for table in ("car", "nursery"):
        assert set(kept["tables"][table]) == {label(r) for r in REQUIREMENTS}
    assert recorded("car").name.startswith("anjana ")


@needs_data
def test_taxonomies_are_of_the_tables_own_categories():
    for name, source in SOURCES.items():
        frame = pd.read_csv(DATA / source.file, dtype=str)
        for attribute, groups in taxonomies(name).items():
            known = set(frame[attribute]) - {"?", "Never-worked"}
            named = [category for members in groups.values() for category in members]
            assert known <= set(named), (name, attribute)
            assert len(set(named)) == len(named)


def owners(pgen, base, basis, table="car", model="tree"):
    """Rows as figure 5 has them, for one and for ten owners."""
    rows = []
    for curve, heights in (("PGEN", pgen), ("BASEGEN", base)):
        for number, height in zip((1, 10), heights, strict=True):
            rows.append(
                {"table": table, "model": model, "curve": curve, "owners": number,
                 "accuracy": height, "basis_accuracy": basis, "path_match": 0.1}
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_what_is_near_and_what_rises_is_judged_by_the_figures():
    """Each verdict with figures that agree and, the control, with some that do not."""
    fine = owners((0.93, 0.95), (0.92, 0.85), 0.96)
    poor = owners((0.95, 0.80), (0.97, 0.98), 0.96)
    for found, agrees in ((fine, True), (poor, False)):
        assert figures._near(found, "car", "tree").agrees is agrees
        assert figures._worse(found, "car").agrees is agrees
        assert figures._trend(found, "car", "PGEN", 1).agrees is agrees
        assert figures._trend(found, "car", "BASEGEN", -1).agrees is agrees


def privacy(ld, shared):
    rows = []
    for curve, heights in ((figures.LD, ld), (figures.PGEN, shared)):
        for asked, height in zip(("(10, 3)", "(15, 4)", "(10, 4)"), heights, strict=True):
            rows.append({"table": "nursery", "model": "tree", "curve": curve, "asked": asked,
                         "accuracy": height})  # fmt: skip
    return pd.DataFrame(rows)


def test_a_distance_counts_only_where_something_was_published():
    far = privacy((0.3, 0.3, np.nan), (0.7, 0.65, 0.2))
    near = privacy((0.3, 0.5, np.nan), (0.7, 0.65, np.nan))
    assert figures._beats_7(far, figures.PGEN, "tree").agrees
    assert figures._beats_7(near, figures.PGEN, "tree").agrees is False
    assert figures._goes_on(far).agrees
    assert figures._goes_on(near).agrees is False


def test_a_value_is_of_one_row():
    found = privacy((0.3, 0.3, 0.1), (0.7, 0.65, 0.2))
    assert value(found, curve=figures.LD, asked="(10, 3)") == 0.3
    with pytest.raises(KeyError, match="3 rows"):
        value(found, curve=figures.LD)


@needs_data
@pytest.mark.slow
def test_cells_are_simulated_with_their_deviations():
    pytest.importorskip("sklearn")
    cells = [
        Cell("car", "own", {"method": "local", "owners": 2}),
        Cell("car", "all", {"method": "pooled", "model": "naive-bayes"}),
    ]
    found = run_cells(Setting(data=DATA, quick=True), cells)
    assert list(found["folds"]) == [2, 2]
    assert (found["accuracy"] > found["majority"]).all()
    assert found["accuracy_sd"].notna().all()


def test_randomized_records_are_held_out_fold_by_fold_as_trees_are():
    """Every run has the records of its fold, and tests those that trees are tested with."""
    cells = {"a": list("xyz" * 8), "b": list("01" * 12), "class": list("npnn" * 6)}
    table = sharing_table(pd.DataFrame(cells).replace({"0": "no", "1": "yes"}), "class", "t")
    kept, source = PreparedTable(table), source_of(table)
    parts = tuple(kept.folds(SimulationOptions(folds=5, owners=1)))
    plan = Plan.unrandomized(source.domain)
    trials = FoldTrials(source, plan, 24, 5, 1, holdout=0.2, parts=parts)
    for fold, trial in zip(parts, trials, strict=True):
        assert (trial.held_out["class"] == kept.codes[fold.test]).all()
        of_class = np.bincount(kept.codes[fold.train], minlength=2)
        assert (trial.true.table(["class"]) == of_class).all()
        assert (trial.reported.table(["class"]) == of_class).all()
    numbers = sharing_table(
        pd.DataFrame({"a": list("123456"), "class": list("npnpnp")}), "class", "t"
    )
    with pytest.raises(TypeError, match="numbers"):
        source_of(numbers)


@needs_data
@pytest.mark.slow
@pytest.mark.calibration
def test_the_choice_runs_and_draws(monkeypatch):
    few = {"LEAST": (5,), "DIVERSITIES": ((10.0, 3),), "EPSILONS": (1.0,), "GAMMAS": (19.0,)}
    for name, values in few.items():
        monkeypatch.setattr(choice, name, values)
    monkeypatch.setattr(sharkey_cells, "QUICK_RECORDS", 400)
    result = choice.run(Setting(seed=1, data=DATA, quick=True))
    assert png("x", "y", result.draw, result.height).startswith(b"\x89PNG")
    assert all(f.text for f in result.findings)

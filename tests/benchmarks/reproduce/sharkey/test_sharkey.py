"""The experiments on shared trees: what their verdicts can and cannot say, and that they draw."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reproduce.engine import Setting
from benchmarks.reproduce.sharkey import figures
from benchmarks.reproduce.sharkey.cells import (
    SOURCES,
    Cell,
    run_cells,
    value,
)
from benchmarks.reproduce.sharkey.publishing import (
    PUBLISHED,
    REQUIREMENTS,
    Publisher,
    class_counts,
    label,
    meets,
)
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import Fold, PreparedTable
from pramana.simulate.model_sharing_tables import SharingTable
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.model_sharing.tree import Leaf

DATA = Path(os.environ.get("PRAMANA_DATA", "../shared/data"))
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public tables are not there")


def test_every_requirement_of_the_paper_has_recorded_levels():
    kept = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for table in ("car", "nursery"):
        assert set(kept["tables"][table]) == {label(r) for r in REQUIREMENTS}


@needs_data
def test_taxonomies_are_of_the_tables_own_categories():
    for name in ("car", "nursery"):
        frame = pd.read_csv(DATA / SOURCES[name].file, dtype=str)
        for attribute, groups in Publisher.of(name).groups.items():
            named = [category for members in groups.values() for category in members]
            assert sorted(frame[attribute].unique()) == sorted(named), (name, attribute)


def made() -> PreparedTable:
    rng = np.random.default_rng(5)
    shape, colour = rng.integers(0, 3, 120), rng.integers(0, 2, 120)
    classes = (shape + (rng.uniform(size=120) < 0.3)) % 2
    columns = (
        CategoricalColumn("shape", shape, ("a", "b", "c")),
        CategoricalColumn("colour", colour, ("x", "y")),
        CategoricalColumn("class", classes, ("no", "yes")),
    )
    return PreparedTable(SharingTable("made", MixedTable(columns, 120), "class"))


def test_levels_are_taken_where_the_records_meet_them():
    """Those chosen most often first; a group is judged as a leaf of the same counts."""
    fine, coarse = {"shape": 0, "colour": 0}, {"shape": 1, "colour": 2}
    asked, kept = Requirement(k=30), made()
    groups = {"shape": {"round": ["a", "b"], "flat": ["c"]}}
    publisher = Publisher(groups, {label(asked): [fine, fine, coarse, None]})
    everyone = Fold(0, 0, np.arange(0), np.arange(120))
    assert publisher.choose(kept, everyone, asked) == coarse
    assert Publisher(groups, {label(asked): [fine]}).choose(kept, everyone, asked) is None
    _, records = publisher.generalized(kept.schema, kept.attributes, coarse)
    assert records["shape"].categories == ("round", "flat")
    assert records["colour"].categories == ("*",)
    counts = class_counts(records, kept.codes, 2)
    assert counts.sum(axis=0).tolist() == np.bincount(kept.codes).tolist()
    for one in (asked, Requirement(k=80), Requirement(c=2.0, l=2), Requirement(c=1.1, l=2)):
        assert meets(counts, one) == all(one.met_by(Leaf.of(tuple(row))) for row in counts)


def test_a_model_of_published_records_is_asked_at_their_levels():
    asked, kept = Requirement(k=1), made()
    levels = {"shape": 0, "colour": 1}
    publisher = Publisher({}, {label(asked): [levels]})
    everyone = Fold(0, 0, np.arange(0), np.arange(120))
    options = SimulationOptions(requirement=asked, model="naive-bayes")
    (found,) = publisher.way(kept, everyone, options).models
    codes = found.predict(kept.attributes)
    flipped = CategoricalColumn("colour", 1 - kept.attributes["colour"].codes, ("x", "y"))
    other = MixedTable((kept.attributes["shape"], flipped), 120)
    assert codes.tolist() == found.predict(other).tolist()
    assert np.mean(codes == kept.codes) > 0.6
    nobody = Publisher({}, {label(asked): [None]})
    assert nobody.way(kept, everyone, options).models == ()


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
            rows.append({"table": "nursery", "model": "tree", "curve": curve, "requirement": asked,
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
    assert value(found, curve=figures.LD, requirement="(10, 3)") == 0.3
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

"""Records published l-diverse at levels that were recorded."""

from __future__ import annotations

import json
from functools import partial

import numpy as np

from benchmarks.reproduce.sharkey.published import (
    RecordedLevels,
    label,
    ldiversity,
    learn_published,
)
from pramana.simulate.model_sharing_options import SimulationOptions
from pramana.simulate.model_sharing_simulation import PreparedTable, simulate
from pramana.simulate.model_sharing_tables import SharingTable
from pramana_core.mixed import CategoricalColumn, MixedTable
from pramana_core.model_sharing.requirements import Requirement

ASKED = Requirement(c=4.0, l=2)


def table(size: int = 120) -> SharingTable:
    rng = np.random.default_rng(5)
    shape, colour = rng.integers(0, 3, size), rng.integers(0, 2, size)
    classes = (shape + (rng.uniform(size=size) < 0.3)) % 2
    columns = (
        CategoricalColumn("shape", shape, ("a", "b", "c")),
        CategoricalColumn("colour", colour, ("x", "y")),
        CategoricalColumn("class", classes, ("no", "yes")),
    )
    return SharingTable("made", MixedTable(columns, size), "class")


def publish(publisher, asked=ASKED):
    kept = PreparedTable(table())
    return publisher.publish(kept.schema, kept.attributes, kept.codes, [asked])


def test_recorded_levels_are_taken_where_the_records_meet_them(tmp_path):
    fine, all_ = {"shape": 0, "colour": 0}, {"shape": 1, "colour": 1}
    asked = Requirement(k=100)
    kept = RecordedLevels({label(asked): [fine, fine, all_, None]})
    assert publish(kept, asked) == [all_]
    assert publish(RecordedLevels({label(asked): [fine, None]}), asked) == [None]
    file = tmp_path / "p.json"
    file.write_text(
        json.dumps({"publisher": "p", "version": "1", "tables": {"t": {label(asked): [all_]}}}),
        encoding="utf-8",
    )
    assert RecordedLevels.read(file, "t").name == "p 1"


def test_a_model_of_published_records_is_asked_at_their_levels():
    kept = PreparedTable(table())
    levels = {"shape": 0, "colour": 1}
    found = learn_published(kept.schema, kept.attributes, kept.codes, levels, "naive-bayes")
    codes = found.predict(kept.attributes)
    flipped = MixedTable(
        (
            kept.attributes["shape"],
            CategoricalColumn("colour", 1 - kept.attributes["colour"].codes, ("x", "y")),
        ),
        kept.attributes.records,
    )
    assert codes.tolist() == found.predict(flipped).tolist()
    assert found.kind == "naive-bayes"
    assert np.mean(codes == kept.codes) > 0.6


def test_publishing_is_simulated_fold_by_fold():
    asked = SimulationOptions(model="naive-bayes", folds=3)
    for levels, none in (({"shape": 1, "colour": 0}, 0), (None, 3)):
        publisher = RecordedLevels({label(ASKED): [levels]})
        way = partial(ldiversity, publisher=publisher, asked=ASKED)
        found = simulate(table(), asked, way=way)
        assert found.without_model == none
        assert (found.spread("accuracy")["mean"] or 0) > 0.4

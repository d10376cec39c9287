"""The miner's job on trees of all of adult: ten owners, and how much of a processor it may take."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from miner_service.kinds.sharing import ModelSharingKind, SharedTrees, TreeSource
from pramana.simulate.model_sharing_tables import sharing_table
from pramana_core.model_sharing.exchange.documents import TreeDocument
from pramana_core.model_sharing.growing import grow_tree
from pramana_core.model_sharing.requirements import released_form
from pramana_core.model_sharing.table_schema import schema_of
from pramana_core.wire.jobs import ModelSharingSpec
from pramana_core.wire.release_kinds import SharedTreeMessage
from tests.places import DATA

OWNERS, RECORDS, SECONDS = 10, 45_222, 60


@pytest.mark.campaign
def test_trees_of_ten_owners_are_combined_within_a_minute():
    """From the owners' records to the model, its document and its comparison with each tree."""
    files = [DATA / f"adult-{part}.csv.gz" for part in ("train", "test")]
    frame = pd.concat([pd.read_csv(file, dtype=str, keep_default_na=False) for file in files])
    table = sharing_table(frame, "income", "adult")
    began = time.process_time()
    schema, records, classes = schema_of(table.records, "income")
    assert records.records == RECORDS
    parts = np.array_split(np.random.default_rng(0).permutation(RECORDS), OWNERS)
    sources = []
    for number, own in enumerate(parts):
        tree = released_form(grow_tree(schema, records.rows(own), classes[own]))
        message = SharedTreeMessage(tree=TreeDocument.of(tree), protection=[])
        sources.append(TreeSource(f"owner-{number}", f"release-{number}", message))
    trees = [source.model.require_promised() for source in sources]
    spec = ModelSharingSpec(kind="model-sharing", method="labelled", seed=1)
    counted, content = ModelSharingKind().learn(
        spec, SharedTrees(trees, tuple(sources)), lambda *_: None
    )
    assert time.process_time() - began < SECONDS
    assert counted == content["pseudo_records"] == RECORDS
    assert len(content["trees"]) == OWNERS

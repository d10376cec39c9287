"""Private trees: drawn once from the draw key, and counted in the ledger."""

import math
import shutil
from dataclasses import replace

import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.release.tree import PreparedTree
from owner_agent.report.releases import ledger_json
from owner_agent.state.environment import Environment
from pramana_core.errors import KeyFileError, PlanConflict, StoreCorrupt
from pramana_core.model_sharing import private as growing
from pramana_core.model_sharing.conditions import Interval
from pramana_core.model_sharing.private import depth_for, thresholds_of
from pramana_core.model_sharing.private_options import PrivateOptions
from tests.owner_agent.release.kinds import KINDS, PRIVATE
from tests.owner_agent.release.tree.sharing import shared, unwatched

private_text = PRIVATE
rows = KINDS["tree"].rows
written = KINDS["tree"].table


@pytest.fixture
def private(clinic):
    """The clinic, which shares a private tree."""
    clinic.write(private_text)
    return clinic


def _tree(bench):
    return PreparedTree.of(bench.site, unwatched, PublishOptions(), Environment()).tree


def test_it_is_drawn_once_whoever_looks_and_publishes_how_often(private):
    first = PreparedTree.of(private.site, unwatched, PublishOptions(), Environment())
    private.write(private_text, written(rows[::-1]))
    assert _tree(private) == first.tree
    shared(private)
    assert shared(private).already
    (manifest,) = (release["manifest"] for release in private.miner.sealed())
    assert manifest.model == first.message
    assert (manifest.model.epsilon, manifest.model.counts) == (2, "noised")
    assert (manifest.model.records, manifest.model.requirement) == (None, None)
    assert manifest.model.to_tree() == first.tree


def test_other_records_and_options_have_other_noise(private):
    first = _tree(private)
    private.write(private_text.replace("epsilon = 2", "epsilon = 2.001"))
    assert _tree(private) != first
    private.write(private_text, written(rows[1:]))
    assert _tree(private) != first
    private.write(private_text, written(rows))
    assert _tree(private) == first


def test_nothing_of_a_private_message_depends_on_how_many_records_are_complete(
    private, monkeypatch
):
    """At a border of `depth_for` one record less would give another depth."""
    text = private_text.replace("[share_model]", '[share_model]\nmissing = "drop"')
    depths, grow = set(), growing.grow_private_tree

    def watched(schema, table, classes, epsilon, noise, options):
        depths.add(options.depth)
        return grow(schema, table, classes, epsilon, noise, options)

    monkeypatch.setattr(growing, "grow_private_tree", watched)
    for empty in (0, 200):
        cut = [row.rsplit(",", 1)[0] + "," for row in rows[:empty]]
        private.write(text, written([*cut, *rows[empty:]]))
        made = PreparedTree.of(private.site, unwatched, PublishOptions(), Environment())
        assert made.chosen.columns.rows == 300
        assert made.message.records is None
    assert len(depths) == 1
    control = {depth_for(records, 3, 1.0) for records in (100, 300)}
    assert len(control) == 2


def test_a_record_more_that_is_left_out_makes_another_tree_if_it_grows_deeper(private):
    """Trees of one identity are one tree: the noise of two must not be the same."""
    text = private_text.replace("[share_model]", '[share_model]\nmissing = "drop"')
    seen = {}
    for incomplete in (0, 10, 3000):
        rest = rows[0][rows[0].index(",") :].rsplit(",", 1)[0] + ","
        private.write(text, written([*(f"x{i}{rest}" for i in range(incomplete)), *rows]))
        made = PreparedTree.of(private.site, unwatched, PublishOptions(), Environment())
        seen.setdefault(made.chosen.depth, set()).add(made.chosen.identity)
    assert len(seen) == 2
    assert all(len(identities) == 1 for identities in seen.values())


def test_a_release_that_the_ledger_has_with_other_content_is_refused(private):
    shared(private)
    ledger = Ledger(private.state)
    (entry,) = ledger.entries()
    ledger.put(replace(entry, plan_digest="0" * 64))
    with pytest.raises(StoreCorrupt) as refused:
        shared(private)
    assert refused.value.where == entry.name
    ledger.put(entry)
    assert shared(private).already


def test_thresholds_are_those_of_the_declared_grid(private):
    tree = PreparedTree.of(private.site, unwatched, PublishOptions(), Environment()).tree
    told = {
        end
        for path in tree.paths()
        for condition in path.conditions.values()
        if isinstance(condition, Interval)
        for end in (condition.above, condition.up_to)
        if math.isfinite(end)
    }
    grid = thresholds_of(tree.schema["age"], PrivateOptions().grid)
    assert told <= {*grid, 0.0, 100.0}


def test_the_epsilon_counts_once_for_each_column_and_adds_to_randomized_releases(private):
    head, _, section = private_text.partition("[share_model]")
    variable = """
[[variables]]
name = "illness"
column = "diagnosis"
categories = ["healthy", "flu", "asthma"]
sensitive = true
channel = { kind = "symmetric", p = 0.5 }
"""
    private.write(head + variable + "[share_model]" + section)
    shared(private)
    with pytest.raises(PlanConflict):
        publish(PreparedRecords, private.site, private.environment, PublishOptions())
    publish(
        PreparedRecords, private.site, private.environment, PublishOptions(accept_added_loss=True)
    )
    told = ledger_json(Ledger(private.state).entries())
    # Symmetric over 3 categories with p = 1/2: 1/2 against 1/4, so ln 2 is added.
    assert told["composed_epsilon"]["diagnosis"] == pytest.approx(2 + math.log(2))
    assert told["composed_epsilon"]["age"] == told["composed_epsilon"]["ward"] == 2
    assert told["shared_columns"] == []
    (tree, _) = Ledger(private.state).entries()
    assert (tree.kind, tree.method) == ("knowledge-model", "private, epsilon 2")
    assert {draw.epsilon for draw in tree.draws} == {2}


def test_a_second_tree_is_refused_unless_the_custodian_allows_it(private):
    shared(private)
    private.write(private_text, written(rows[1:]))
    with pytest.raises(PlanConflict) as raised:
        shared(private)
    assert "age" in raised.value.where
    shared(private, accept_added_loss=True)
    assert set(ledger_json(Ledger(private.state).entries())["composed_epsilon"].values()) == {4}
    assert shared(private).already


def test_it_is_not_shown_by_a_key_that_would_not_draw_what_leaves(private):
    shutil.rmtree(private.state)
    with pytest.raises(KeyFileError):
        PreparedTree.of(private.site, unwatched, PublishOptions(preview=True), Environment())

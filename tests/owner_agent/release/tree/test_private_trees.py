"""Private trees: drawn once, kept before anybody sees them, and counted in the ledger."""

import json
import math
import shutil
import stat
from contextlib import suppress

import pytest

from owner_agent.release import tree as kept
from owner_agent.release.composition import losses
from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.release.tree import FOLDER, PreparedTree
from owner_agent.report.releases import ledger_json
from owner_agent.report.trees import report_of
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import BudgetExceeded, PlanConflict, StoreCorrupt
from pramana_core.model_sharing import private as growing
from pramana_core.model_sharing.conditions import Interval
from pramana_core.model_sharing.private import depth_for, thresholds_of
from pramana_core.model_sharing.private_options import PrivateOptions
from tests.owner_agent.release.tree.sharing import sent, shared, unwatched


@pytest.fixture
def private(clinic, private_text):
    """The clinic, which shares a private tree."""
    clinic.write(private_text)
    return clinic


@pytest.fixture
def draws(monkeypatch):
    """How often a tree was drawn: a list that grows by one each time."""
    drawn, draw = [], kept._draw

    def counted(chosen):
        drawn.append(chosen.identity)
        return draw(chosen)

    monkeypatch.setattr(kept, "_draw", counted)
    return drawn


def test_it_is_drawn_once_whoever_looks_and_publishes_how_often(private, draws, rows, written):
    first = PreparedTree.of(private.site, unwatched).made
    private.write((private.folder / "site.toml").read_text(), written(rows[::-1]))
    assert PreparedTree.of(private.site, unwatched).made.tree == first.tree
    shared(private)
    assert shared(private).already
    assert len(draws) == 1
    (manifest,) = (release["manifest"] for release in private.miner.sealed())
    assert manifest.model == first.message
    assert (manifest.model.epsilon, manifest.model.counts) == (2, "noised")
    assert (manifest.model.records, manifest.model.requirement) == (None, None)
    assert manifest.model.to_tree() == first.tree


def test_a_crash_between_drawing_and_sending_draws_nothing_anew(private, draws, killed):
    def dies(_now):
        raise killed("while the custodian looks at it")

    with pytest.raises(killed):
        shared(private, show=dies)
    assert not (private.state / "outbox").exists()
    (file,) = (private.state / FOLDER).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    before = file.read_bytes()
    for step in range(4):
        for when in ("before", "after"):
            private.miner.faults = [None] * step + [(when, killed("kill -9"))]
            with suppress(killed):
                shared(private)
    private.miner.faults = []
    shared(private)
    assert file.read_bytes() == before
    assert len(draws) == 1
    (manifest,) = sent(private)
    assert json.loads(manifest)["model"]["tree"]["nodes"] == json.loads(before)["nodes"]


def test_a_tree_drawn_again_after_the_first_may_have_left_counts_again(private, draws, killed):
    private.miner.faults = [None, None, ("after", killed("kill -9"))]
    with pytest.raises(killed):
        shared(private)
    (entry,) = Ledger(private.state).entries()
    assert entry.state == "sending"
    for lost in (FOLDER, "outbox"):
        shutil.rmtree(private.state / lost)
    with pytest.raises(PlanConflict):
        shared(private)
    assert len(sent(private)) == 1
    shared(private, accept_added_loss=True)
    assert len(draws) == len(sent(private)) == 2
    assert losses([d for e in Ledger(private.state).entries() for d in e.draws])["age"] == 4
    assert shared(private).already


def test_a_tree_drawn_again_after_it_was_sealed_counts_again(private, private_text, draws):
    """In another study, too: no ledger's state of the first release makes the second free."""
    shared(private)
    (entry,) = Ledger(private.state).entries()
    assert entry.state == "sealed"
    for lost in (FOLDER, "outbox"):
        shutil.rmtree(private.state / lost)
    private.write(private_text.replace('study = "asia"', 'study = "other"'))
    private.miner.study = "other"
    TokenStore(private.state).save("other", TokenStore(private.state).load("asia"))
    with pytest.raises(PlanConflict):
        shared(private)
    shared(private, accept_added_loss=True)
    assert len(draws) == 2
    assert losses([d for e in Ledger(private.state).entries() for d in e.draws])["age"] == 4


def test_nothing_of_a_private_message_depends_on_how_many_records_are_complete(
    private, private_text, rows, written, monkeypatch
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
        made = PreparedTree.of(private.site, unwatched).made
        assert made.chosen.columns.rows == 300
        assert made.message.records is None
    assert len(depths) == 1
    control = {depth_for(records, 3, 1.0) for records in (100, 300)}
    assert len(control) == 2


def test_thresholds_are_those_of_the_declared_grid(private):
    tree = PreparedTree.of(private.site, unwatched).made.tree
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


def test_a_limit_in_the_file_changes_no_draw(private, draws, private_text):
    PreparedTree.of(private.site, unwatched)
    private.write(private_text.replace("epsilon = 2", "epsilon = 2, max_epsilon = 5"))
    PreparedTree.of(private.site, unwatched)
    assert len(draws) == 1
    private.write(private_text.replace("epsilon = 2", "epsilon = 1"))
    now = PreparedTree.of(private.site, unwatched)
    assert len(draws) == 2
    (said,) = report_of(now).said("warning")
    assert said.startswith("Another private tree was drawn here")


def test_what_was_kept_and_changed_is_not_drawn_over(private, draws):
    PreparedTree.of(private.site, unwatched)
    (file,) = (private.state / FOLDER).iterdir()
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(StoreCorrupt, match="is not what was written there"):
        PreparedTree.of(private.site, unwatched)
    assert len(draws) == 1


def test_the_epsilon_counts_once_for_each_column_and_adds_to_randomized_releases(
    private, private_text
):
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
    with pytest.raises(PlanConflict, match=r"'diagnosis': epsilon 2 would become 2\.693"):
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


def test_a_second_tree_is_refused_unless_the_file_or_the_custodian_allows_it(
    private, private_text, rows, written
):
    shared(private)
    private.write(private_text, written(rows[1:]))
    with pytest.raises(PlanConflict, match="epsilon 2 would become 4") as raised:
        shared(private)
    assert "column 'age': epsilon 2 would become 4" in raised.value.message
    private.write(private_text.replace("epsilon = 2", "epsilon = 2, max_epsilon = 4"))
    shared(private)
    assert set(ledger_json(Ledger(private.state).entries())["composed_epsilon"].values()) == {4}
    private.write(
        private_text.replace("epsilon = 2", "epsilon = 2, max_epsilon = 5"), written(rows[2:])
    )
    now = PreparedTree.of(private.site, unwatched)
    assert now.over == ("age", "ward", "diagnosis")
    assert "publishing is refused" in " ".join(report_of(now).said("warning"))
    with pytest.raises(BudgetExceeded, match="column 'age': epsilon 6"):
        shared(private, accept_added_loss=True)
    assert len(private.miner.sealed()) == 2
    # What left is published again under any limit: it adds nothing.
    private.write(
        private_text.replace("epsilon = 2", "epsilon = 2, max_epsilon = 2"), written(rows[1:])
    )
    assert shared(private).already

"""Shared trees: the same bytes for the same table, and nothing that another one would tell."""

import shutil

import httpx
import joblib  # noqa: F401 - at its import it tries out whether there is room for a semaphore
import pytest

from owner_agent.release import tree as growing
from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish, withdraw
from owner_agent.release.randomized import PreparedRecords
from owner_agent.release.tree import PreparedTree, choose
from owner_agent.report.releases import ledger_json
from owner_agent.state.keys import KeyStore
from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import (
    ConfigError,
    KeyFileError,
    PlanConflict,
    ReleaseNotOpen,
    RequirementUnmet,
    StudyPlanNotFollowed,
    Unreachable,
)
from pramana_core.model_sharing.requirements import Requirement
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet
from tests.owner_agent.release.tree.sharing import sent, shared, unwatched


def _promised(made):
    return made.message.requirement.to_requirement()


@pytest.fixture
def arrived(clinic):
    """What an undisturbed publication sends."""
    shared(clinic)
    (manifest,) = sent(clinic)
    return manifest


def test_what_arrives_is_the_tree_and_what_it_promises(clinic):
    outcome = shared(clinic)
    (release,) = clinic.miner.sealed()
    model = release["manifest"].model
    assert not release["bodies"]
    assert not outcome.already
    assert model.requirement.to_requirement() == Requirement(k=10, c=8, l=2)
    assert (model.counts, model.epsilon, model.records) == ("exact", None, 300)
    tree = model.require_promised()
    assert tree.records == 300
    assert outcome.leaves == len(tree.leaves) > 2
    assert min(leaf.records for leaf in tree.leaves) >= 10
    assert all(leaf.distribution is None for leaf in tree.leaves)
    # Its paths count the records that are on them.
    chosen = choose(clinic.site, KeyStore(clinic.state).load_draw())
    places = tree.leaf_of(chosen.attributes).tolist()
    assert [places.count(n) for n in range(len(tree.leaves))] == [x.records for x in tree.leaves]


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        ('{ k = 20, by = "growing" }', Requirement(k=20)),
        ('{ c = 9, l = 3, by = "growing" }', Requirement(c=9, l=3, exact=False)),
        ('{ k = 5, c = 9, l = 3, counts = "hits", by = "growing" }', None),
    ],
)
def test_what_is_promised_is_what_the_counts_that_are_told_show(
    clinic, site_text, requirement, told
):
    asked = site_text.replace('{ k = 10, c = 8, l = 2, by = "growing" }', requirement)
    assert asked != site_text
    clinic.write(asked)
    made = PreparedTree.of(clinic.site, unwatched).made
    required = made.chosen.section.required.required
    assert _promised(made) == (required if told is None else told)
    made.message.require_promised()
    clinic.write(asked.replace("[share_model]", '[share_model]\ntell = "distribution"'))
    made = PreparedTree.of(clinic.site, unwatched).made
    assert _promised(made) == required
    made.message.require_promised()
    assert sum(map(sum, (leaf.distribution for leaf in made.tree.leaves))) == 300


def test_the_order_of_rows_and_publishing_again_change_nothing(clinic, arrived, rows, written):
    clinic.write((clinic.folder / "site.toml").read_text(), written(rows[::-1]))
    requests = len(clinic.miner.requests)
    again = shared(clinic)
    assert again.already
    assert sent(clinic) == [arrived]
    assert [r.method for r in clinic.miner.requests[requests:]] == ["GET", "POST"]


@pytest.mark.slow
@pytest.mark.parametrize("step", range(5))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_any_request_is_continued_with_the_same_bytes(
    clinic, arrived, killed, step, when, tmp_path, bench, site_text, rows, written
):
    clinic.miner.releases.clear()
    shutil.rmtree(clinic.state)
    clinic.join()
    clinic.miner.faults = [None] * step + [(when, killed("kill -9"))]
    try:
        shared(clinic)
    except killed:
        assert not clinic.miner.faults
    clinic.miner.faults = []
    shared(clinic)
    assert sent(clinic) == [arrived]
    (entry,) = Ledger(clinic.state).entries()
    assert entry.state == "sealed"


def test_a_release_is_continued_with_what_was_written_and_not_grown_again(
    clinic, arrived, monkeypatch
):
    """A library that breaks ties otherwise would grow another tree: the outbox has what left."""
    grow = growing.grow_tree

    def otherwise(schema, table, classes, options, requirement=None):
        return grow(schema, table, classes, growing.GrowthOptions(max_depth=1))

    monkeypatch.setattr(growing, "grow_tree", otherwise)
    assert shared(clinic).already
    assert sent(clinic) == [arrived]


def test_a_miner_that_does_not_answer_is_told_with_the_command_that_continues(clinic):
    clinic.miner.faults = [None, None, ("before", httpx.ConnectError("gone"))]
    with pytest.raises(Unreachable) as raised:
        shared(clinic)
    assert "`owner-agent share-model --publish` continues" in raised.value.remedy


def test_a_table_changed_by_one_record_is_refused_and_said_why(
    clinic, arrived, rows, written, site_text
):
    clinic.write(site_text, written(rows[:-1]))
    with pytest.raises(PlanConflict, match="'age' left in a shared tree, from other records") as no:
        shared(clinic)
    assert "subtracting their counts" in no.value.message
    assert "its path and its class away" in no.value.message
    assert sent(clinic) == [arrived]
    shared(clinic, accept_added_loss=True)
    assert len(clinic.miner.sealed()) == 2


def test_a_corrected_record_makes_another_tree_and_is_refused(
    clinic, arrived, rows, written, site_text
):
    """Also where its path stays the same: what is subtracted is the difference of two releases."""
    record, age, ward, diagnosis = rows[7].split(",")
    other = {"healthy": "flu", "flu": "asthma", "asthma": "healthy"}[diagnosis]
    rows[7] = ",".join([record, age, ward, other])
    clinic.write(site_text, written(rows))
    with pytest.raises(PlanConflict, match="'diagnosis' left in a shared tree"):
        shared(clinic)
    assert sent(clinic) == [arrived]


def test_two_studies_get_the_same_tree(clinic, arrived, site_text):
    first = PreparedTree.of(clinic.site, unwatched)
    clinic.write(site_text.replace('study = "asia"', 'study = "cancer"'))
    second = PreparedTree.of(clinic.site, unwatched)
    assert second.made.message == first.made.message
    second.require_allowed(PublishOptions())


def test_no_tree_needs_the_linkage_secret(clinic, arrived):
    linkage = KeyStore(clinic.state).path("linkage")
    linkage.unlink()
    assert shared(clinic).already
    linkage.with_name("draw.key").unlink()
    with pytest.raises(KeyFileError, match="no draw key in"):
        PreparedTree.of(clinic.site, unwatched)


@pytest.mark.parametrize("requirement", ["{ k = 10 }", "{ k = 3, c = 9, l = 2 }"])
def test_where_nothing_is_said_a_tree_grows_with_what_is_required(clinic, site_text, requirement):
    asked = '{ k = 10, c = 8, l = 2, by = "growing" }'
    clinic.write(site_text.replace(asked, requirement))
    made = PreparedTree.of(clinic.site, unwatched).made
    assert made.pruned is None
    assert len(made.tree.leaves) > 1
    # Cut back, nothing is left of this one.
    clinic.write(site_text.replace(asked, f'{requirement[:-1]}, by = "pruning" }}'))
    with pytest.raises(RequirementUnmet):
        PreparedTree.of(clinic.site, unwatched)


def test_paths_that_win_too_little_are_cut_where_asked(clinic, site_text):
    text = site_text.replace(
        '{ k = 10, c = 8, l = 2, by = "growing" }', '{ k = 5, by = "pruning" }'
    )
    clinic.write(text + '\n[share_model.pruning]\nmerge = "fewest"\n')
    all_paths = len(PreparedTree.of(clinic.site, unwatched).made.tree.leaves)
    clinic.write(text + '\n[share_model.pruning]\nmerge = "fewest"\nleast_gain = 3\n')
    assert 1 < len(PreparedTree.of(clinic.site, unwatched).made.tree.leaves) < all_paths


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("k = 10", "k = 11"),
        ("[share_model]", '[share_model]\ntell = "distribution"'),
        ("high = 100", "high = 110"),
        ('by = "growing" }', 'by = "pruning" }\npruning = { merge = "fewest" }'),
        # One attribute fewer: another tree of the same records.
        ('[[share_model.attributes]]\ncolumn = "age"\nlow = 0\nhigh = 100\nwhole = true\n', ""),
    ],
)
def test_another_tree_of_the_same_table_is_refused(clinic, arrived, site_text, old, new):
    assert old in site_text
    clinic.write(site_text.replace(old, new))
    with pytest.raises(PlanConflict, match="in a shared tree"):
        shared(clinic)


VARIABLE = """
[[variables]]
name = "{column}"
categories = {categories}
sensitive = {sensitive}
{channel}
"""
CHANNEL = 'channel = { kind = "symmetric", p = 0.4 }'
DIAGNOSIS = {"column": "diagnosis", "categories": '["healthy", "flu", "asthma"]'}
WARD = {"column": "ward", "categories": '["north", "south", "east", "west"]'}


def _head(site_text):
    return site_text.partition("[share_model]")[0]


def test_a_column_of_a_tree_is_not_randomized_later_nor_the_other_way_round(
    clinic, arrived, site_text
):
    randomized = VARIABLE.format(sensitive="true", channel=CHANNEL, **DIAGNOSIS)
    clinic.write(_head(site_text) + randomized)
    with pytest.raises(PlanConflict, match="left in a shared tree, and would leave randomized now"):
        publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    publish(
        PreparedRecords, clinic.site, clinic.environment, PublishOptions(accept_added_loss=True)
    )
    composed = ledger_json(Ledger(clinic.state).entries())
    assert composed["composed_epsilon"]["diagnosis"] is None
    assert composed["shared_columns"] == ["age", "diagnosis", "ward"]


def test_a_column_that_is_told_openly_may_stand_in_a_tree(clinic, site_text):
    public = VARIABLE.format(sensitive="false", channel="", **WARD)
    clinic.write(_head(site_text) + public + "[share_model]" + site_text.split("[share_model]")[1])
    publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    shared(clinic)
    publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    assert len(clinic.miner.sealed()) == 2


def test_withdrawing_works_and_the_same_is_not_published_again(clinic, arrived):
    (entry,) = Ledger(clinic.state).entries()
    withdraw(clinic.site, entry.name, clinic.environment)
    (entry,) = Ledger(clinic.state).entries()
    assert entry.state == "withdrawn"
    with pytest.raises(ReleaseNotOpen, match="was withdrawn on 2031"):
        shared(clinic)


def test_no_column_of_the_studys_plan_leaves_in_a_tree(clinic):
    part = StudyPart(0, (0,), Symmetric.from_gamma(2, 3.0))
    variable = Variable("ward", ("no", "yes"))
    sets = (StudySet(1 << 30, (part,)),)
    clinic.miner.study_plan = StudyPlan((("clinic-south", (variable,)),), sets)
    with pytest.raises(StudyPlanNotFollowed, match="randomizes ward; this") as raised:
        shared(clinic)
    assert "[share_model]" in raised.value.remedy
    assert not clinic.miner.releases


def test_no_tree_that_meets_the_requirement_is_an_explicit_refusal(clinic, site_text):
    clinic.write(site_text.replace("k = 10", "k = 200"))
    with pytest.raises(RequirementUnmet) as raised:
        shared(clinic)
    assert "share_model" in raised.value.where
    assert not (clinic.state / "outbox").exists()
    assert not clinic.miner.requests


def test_a_site_without_the_section_says_so(bench):
    with pytest.raises(ConfigError, match="no section"):
        PreparedTree.of(bench.site, unwatched)


def test_a_site_that_shares_alone_has_nothing_to_randomize(clinic):
    with pytest.raises(ConfigError, match="only a tree to share") as raised:
        publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    assert "owner-agent share-model --publish" in raised.value.remedy


def test_on_a_full_disk_nothing_is_done_by_halves_and_a_private_tree_is_drawn_once(
    clinic, private_text
):
    clinic.write(private_text)
    clinic.done_where_room_is_short(lambda: shared(clinic))
    assert len(set(sent(clinic))) == 1

"""Shared trees: the same bytes for the same table, and nothing that another one would tell."""

import joblib  # noqa: F401 - at its import it tries out whether there is room for a semaphore
import pytest

from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.release.tree import PreparedTree, TreePlan
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore
from pramana_core.model_sharing.requirements import Requirement
from tests.owner_agent.release.kinds import TREE
from tests.owner_agent.release.tree.sharing import shared, unwatched

site_text = TREE


def _promised(made):
    return made.message.requirement


def test_what_arrives_is_the_tree_and_what_it_promises(clinic):
    outcome = shared(clinic)
    (release,) = clinic.miner.sealed()
    model = release["manifest"].model
    assert not release["bodies"]
    assert not outcome.already
    assert model.requirement == Requirement(k=10, c=8, l=2)
    assert (model.counts, model.epsilon, model.records) == ("exact", None, 300)
    tree = model.require_promised()
    assert tree.records == 300
    assert outcome.leaves == len(tree.leaves) > 2
    assert min(leaf.records for leaf in tree.leaves) >= 10
    assert all(leaf.distribution is None for leaf in tree.leaves)
    # Its paths count the records that are on them.
    chosen = TreePlan.of(clinic.site, KeyStore(clinic.state).load_draw())
    places = tree.leaf_of(chosen.attributes).tolist()
    assert [places.count(n) for n in range(len(tree.leaves))] == [x.records for x in tree.leaves]


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        ("{ k = 20 }", Requirement(k=20)),
        ("{ c = 9, l = 3 }", Requirement(c=9, l=3, exact=False)),
        ('{ k = 5, c = 9, l = 3, counts = "hits" }', None),
    ],
)
def test_what_is_promised_is_what_the_counts_that_are_told_show(clinic, requirement, told):
    asked = site_text.replace("{ k = 10, c = 8, l = 2 }", requirement)
    assert asked != site_text
    clinic.write(asked)
    made = PreparedTree.of(clinic.site, unwatched, PublishOptions(), Environment())
    required = made.chosen.section.required.required
    assert _promised(made) == (required if told is None else told)
    made.message.require_promised()
    clinic.write(asked.replace("[share_model]", '[share_model]\ntell = "distribution"'))
    made = PreparedTree.of(clinic.site, unwatched, PublishOptions(), Environment())
    assert _promised(made) == required
    made.message.require_promised()
    assert sum(map(sum, (leaf.distribution for leaf in made.tree.leaves))) == 300


VARIABLE = """
[[variables]]
name = "{column}"
categories = {categories}
sensitive = {sensitive}
{channel}
"""
WARD = {"column": "ward", "categories": '["north", "south", "east", "west"]'}


def _head(site_text):
    return site_text.partition("[share_model]")[0]


def test_a_column_that_is_told_openly_may_stand_in_a_tree(clinic):
    public = VARIABLE.format(sensitive="false", channel="", **WARD)
    clinic.write(_head(site_text) + public + "[share_model]" + site_text.split("[share_model]")[1])
    publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    shared(clinic)
    publish(PreparedRecords, clinic.site, clinic.environment, PublishOptions())
    assert len(clinic.miner.sealed()) == 2

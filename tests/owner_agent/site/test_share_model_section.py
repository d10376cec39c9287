"""`[share_model]` of the site file: every mistake is refused by name before anything is read."""

import pytest

from pramana_core.errors import ConfigError
from tests.owner_agent.site.written import CHANNEL, VARIABLE, site_of

SHARE = """
[share_model]
requirement = { k = 5 }
target = { column = "diagnosis", categories = ["a", "b", "c"] }
attributes = [
  "weight",
  { column = "age", low = 0, high = 100, whole = true },
  { column = "ward", categories = ["n", "s", "w"] },
]
"""
PRIVATE = SHARE.replace("requirement = { k = 5 }", "private = { epsilon = 1 }").replace(
    '"weight"', '{ column = "weight", low = 0, high = 200 }'
)
MASK = '[mask]\nconfidential = ["%s"]\n'


def _asked(requirement):
    return SHARE.replace("{ k = 5 }", requirement)


def test_a_site_may_share_a_tree_alone_and_beside_variables(tmp_path):
    section = site_of(tmp_path, SHARE).share_model
    assert section.columns == ("weight", "age", "ward", "diagnosis")
    assert section.required.k == 5
    assert section.required.required.exact
    assert (section.tell, section.missing, section.private) == ("hits", "refuse", None)
    assert [a.declared for a in section.attributes] == [False, True, True]
    both = site_of(tmp_path, SHARE + VARIABLE % ("city", "true", CHANNEL))
    assert both.share_model == section
    site_of(tmp_path, SHARE + VARIABLE % ("ward", "false", ""))
    site_of(tmp_path, SHARE + MASK % "debt")


def test_a_private_tree_may_stand_beside_a_randomization_of_its_columns(tmp_path):
    site = site_of(tmp_path, PRIVATE + VARIABLE % ("diagnosis", "true", CHANNEL))
    assert site.share_model.private.epsilon == 1
    assert site.share_model.required is None


def test_nothing_is_required_only_where_that_is_written_out(tmp_path):
    section = site_of(tmp_path, _asked('"none"')).share_model
    assert section.required is None
    with pytest.raises(ConfigError, match="say what every path must meet"):
        site_of(tmp_path, SHARE.replace("requirement = { k = 5 }", ""))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no \\[mask\\] and no \\[share_model\\]"),
        ("[share_model]\n", "missing key share_model.target"),
        (SHARE.replace("]\n}", "]\n}") + "noise = 1\n", "unknown key share_model.noise"),
        (SHARE.replace("whole = true", "cuts = [1]"), r"unknown key share_model\.attributes\[2\]"),
        (SHARE.replace('"b", "c"]', '"b", "b"]'), "category twice"),
        (SHARE.replace('["a", "b", "c"]', '["a"]'), "share_model.target.categories"),
        (SHARE.replace("high = 100, ", ""), "the range of column 'age' needs low and high"),
        (SHARE.replace("high = 100", "high = -1"), "must go from a lower to a higher"),
        (
            SHARE.replace("low = 0, high = 100, whole = true", 'missing = "?"'),
            "'age' lists no categories",
        ),
        (SHARE.replace('"w"] }', '"w"], low = 0, high = 1 }'), "so it has no range"),
        (SHARE.replace('"weight"', '"age"'), "column 'age' is named twice"),
        (SHARE.replace('"weight"', '"diagnosis"'), "column 'diagnosis' is named twice"),
        (SHARE.replace('"weight"', '"id"'), "column 'id' is the record id"),
        (_asked("{ k = 0 }"), "share_model.requirement.k"),
        (_asked("{ c = 5 }"), "c and l go together"),
        (_asked("{ }"), "must have k, or c and l"),
        (_asked("{ c = 5, l = 4 }"), "l = 4 asks for more classes than the 3 of the target"),
        (_asked('{ k = 5, counts = "some" }'), "share_model.requirement.counts"),
        (_asked("{ k = 5, n = 3 }"), "unknown key share_model.requirement.n"),
        (_asked('"nothing"'), "share_model.requirement"),
        (SHARE + "pruning = { }\n", "share_model.pruning"),
        (SHARE + "growth = { max_depth = 0 }\n", "share_model.growth.max_depth"),
        (SHARE + 'tell = "all"\n', "share_model.tell"),
        (SHARE + "private = { epsilon = 1 }\n", "take the requirement out"),
        (PRIVATE.replace("epsilon = 1", "epsilon = 0"), "share_model.private.epsilon"),
        (PRIVATE.replace("epsilon = 1", "epsilon = 2, max_epsilon = 1"), "at least epsilon"),
        (PRIVATE.replace("epsilon = 1", "epsilon = 1, depth = 13"), "share_model.private.depth"),
        (PRIVATE + "growth = { min_leaf = 3 }\n", "private.depth limits it"),
        (PRIVATE + 'tell = "hits"\n', "take tell out"),
        (
            PRIVATE.replace('{ column = "weight", low = 0, high = 200 }', '"weight"'),
            "needs all ranges declared.*'weight'",
        ),
        (SHARE + VARIABLE % ("ward", "true", CHANNEL), "'ward' is randomized by a variable, too"),
        (SHARE + VARIABLE % ("diagnosis", "true", CHANNEL), "'diagnosis' is randomized"),
        (SHARE + MASK % "weight", "'weight' is masked, too"),
        (PRIVATE + MASK % "weight", "'weight' is masked, too"),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, text, said):
    with pytest.raises(ConfigError, match=said):
        site_of(tmp_path, text)


def test_a_site_without_the_section_says_what_to_add(tmp_path):
    site = site_of(tmp_path, VARIABLE % ("city", "false", ""))
    with pytest.raises(ConfigError, match="no section") as raised:
        _ = site.share_model
    assert raised.value.where == "share_model"

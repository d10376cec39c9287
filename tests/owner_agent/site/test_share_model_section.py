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
    with pytest.raises(ConfigError):
        site_of(tmp_path, SHARE.replace("requirement = { k = 5 }", ""))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[share_model]\n",
        SHARE.replace("]\n}", "]\n}") + "noise = 1\n",
        SHARE.replace("whole = true", "cuts = [1]"),
        SHARE.replace('"b", "c"]', '"b", "b"]'),
        SHARE.replace('["a", "b", "c"]', '["a"]'),
        SHARE.replace("high = 100, ", ""),
        SHARE.replace("high = 100", "high = -1"),
        SHARE.replace("low = 0, high = 100, whole = true", 'missing = "?"'),
        SHARE.replace('"w"] }', '"w"], low = 0, high = 1 }'),
        SHARE.replace('"weight"', '"age"'),
        SHARE.replace('"weight"', '"diagnosis"'),
        SHARE.replace('"weight"', '"id"'),
        _asked("{ k = 0 }"),
        _asked("{ c = 5 }"),
        _asked("{ }"),
        _asked("{ c = 5, l = 4 }"),
        _asked('{ k = 5, counts = "some" }'),
        _asked("{ k = 5, n = 3 }"),
        _asked('"nothing"'),
        SHARE + "pruning = { }\n",
        SHARE + "growth = { max_depth = 0 }\n",
        SHARE + 'tell = "all"\n',
        SHARE + "private = { epsilon = 1 }\n",
        PRIVATE.replace("epsilon = 1", "epsilon = 0"),
        PRIVATE.replace("epsilon = 1", "epsilon = 1, depth = 13"),
        PRIVATE + "growth = { min_leaf = 3 }\n",
        PRIVATE + 'tell = "hits"\n',
        PRIVATE.replace('{ column = "weight", low = 0, high = 200 }', '"weight"'),
        SHARE + VARIABLE % ("ward", "true", CHANNEL),
        SHARE + VARIABLE % ("diagnosis", "true", CHANNEL),
        SHARE + MASK % "weight",
        PRIVATE + MASK % "weight",
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, text):
    with pytest.raises(ConfigError):
        site_of(tmp_path, text)


def test_a_site_without_the_section_says_what_to_add(tmp_path):
    site = site_of(tmp_path, VARIABLE % ("city", "false", ""))
    with pytest.raises(ConfigError) as raised:
        _ = site.share_model
    assert raised.value.where == "share_model"

"""`[mask]` of the site file: every mistake is refused by name before anything is read."""

import pytest

from pramana_core.errors import ConfigError
from tests.owner_agent.site.written import CHANNEL, VARIABLE, site_of

MASK = """
[mask]
confidential = ["expenditure", "debt"]
tell = ["age", { column = "gender", categories = ["f", "m"] }]
"""


def test_a_site_may_mask_without_variables_and_beside_them(tmp_path):
    mask = site_of(tmp_path, MASK).mask
    assert mask.columns == ("age", "gender", "expenditure", "debt")
    assert (mask.method, mask.missing, mask.max_leverage) == ("auto", "refuse", None)
    both = site_of(tmp_path, MASK + VARIABLE % ("city", "true", CHANNEL))
    assert both.mask == mask
    assert len(both.file.variables) == 1
    site_of(tmp_path, MASK + VARIABLE % ("age", "false", ""))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[mask]\n",
        "[mask]\nconfidential = []\n",
        MASK + "noise = 1\n",
        MASK.replace('"m"]', '"m"], cuts = [1]'),
        MASK.replace('"f", "m"', '"f", "f"'),
        MASK.replace('["f", "m"]', '["f", "m"], missing = "?"'),
        MASK.replace('"debt"', '"age"'),
        MASK.replace('"debt"', '"id"'),
        MASK + 'method = "magic"\n',
        MASK + "options = { noise = 1 }\n",
        MASK + 'method = "egadp"\noptions = { noise = 1 }\n',
        MASK + 'method = "sadp"\nmax_leverage = 0.3\n',
        MASK + 'method = "egadp"\noptions = { max_leverage = 0.3 }\n',
        MASK + 'method = "nmegadp"\noptions = { kernel = { width = 1 } }\n',
        MASK + "max_leverage = 0\n",
        MASK + "max_told = 0\n",
        MASK + "copies = 0\n",
        MASK + 'missing = "guess"\n',
        MASK + VARIABLE % ("debt", "true", CHANNEL),
        MASK + VARIABLE % ("debt", "false", ""),
        MASK + VARIABLE % ("age", "true", CHANNEL),
    ],
)
def test_what_cannot_be_is_refused_by_name(tmp_path, text):
    with pytest.raises(ConfigError):
        site_of(tmp_path, text)


def test_options_are_those_of_the_method(tmp_path):
    mask = site_of(tmp_path, MASK + 'method = "sadp"\noptions = { noise = 0.2 }\n').mask
    assert mask.options_of("sadp") == {"noise": 0.2}
    mask = site_of(tmp_path, MASK + "max_leverage = 0.3\n").mask
    assert mask.options_of("egadp") == {"max_leverage": 0.3}
    assert mask.options_of("sadp") == {}


def test_a_bound_on_what_is_told_is_asked_of_whichever_method(tmp_path):
    mask = site_of(tmp_path, MASK + "max_told = 0.1\n").mask
    assert mask.options_of("egadp") == mask.options_of("nmegadp") == {"max_told": 0.1}


def test_a_site_without_the_section_says_what_to_add(tmp_path):
    site = site_of(tmp_path, VARIABLE % ("city", "false", ""))
    with pytest.raises(ConfigError) as raised:
        _ = site.mask
    assert raised.value.where == "mask"

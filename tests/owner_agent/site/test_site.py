"""A site file that says something wrong is refused by name, and no sensitive variable slips out."""

import pytest

from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.site.writing import ExtendedSite
from pramana_core.channels import Grouped, Symmetric
from pramana_core.errors import ConfigError, PlanError, UnprotectedVariable
from tests.owner_agent.site.written import HEAD, channel_of, one, site_of


def test_the_plan_follows_the_file(tmp_path):
    site = site_of(
        tmp_path,
        """
        [[variables]]
        name = "public"
        categories = ["x", "y"]
        sensitive = false
        [[variables]]
        name = "income"
        categories = ["low", "high"]
        sensitive = true
        [[variables]]
        name = "age"
        column = "years"
        cuts = [30, 45.5]
        missing = "?"
        sensitive = true
        channel = { kind = "grouped", groups = [["<30", "30-45.5"], [">=45.5", "?"]], p = 0.2 }
        [[variables]]
        name = "sex"
        categories = ["f", "m"]
        sensitive = true
        [[blocks]]
        variables = ["sex", "income"]
        channel = { kind = "symmetric", gamma = 5.0 }
        """,
    )
    made = planned(site)
    assert [block.names for block in made.plan.blocks] == [
        ("public",), ("sex", "income"), ("age",),
    ]  # fmt: skip
    assert made.plan.blocks[0].channel.is_identity
    assert made.plan.blocks[1].channel == Symmetric.from_gamma(4, 5.0)
    assert made.plan.blocks[2].channel == Grouped.from_probability([[0, 1], [2, 3]], 0.2)
    assert made.columns == {"public": "public", "income": "income", "age": "years", "sex": "sex"}
    assert made.sensitive == {"income", "age", "sex"}


def test_what_is_not_sensitive_needs_no_channel(tmp_path):
    assert planned(one(tmp_path, "", sensitive="false")).plan.blocks[0].channel.is_identity


def test_every_wrong_variable_is_told_at_once(tmp_path):
    variables = """
        [[variables]]
        name = "one"
        categories = ["a", "b"]
        sensitive = true
        [[variables]]
        name = "two"
        categories = ["a", "b"]
        sensitive = true
        channel = { kind = "symmetric", p = 3.0 }
        [[variables]]
        name = "three"
        categories = ["a", "b", "c"]
        sensitive = true
        channel = { kind = "grouped", groups = [["a"], ["b", "c"]], p = 0.2 }
        """
    with pytest.raises(UnprotectedVariable):
        planned(site_of(tmp_path, variables))


GOOD = '[[variables]]\nname = "A"\ncategories = ["a", "b"]\nsensitive = false\n'


def good(words):
    """Return the variable that is right, with a channel in words."""
    return f"{GOOD}channel = {channel_of(words)}\n"


@pytest.mark.parametrize(
    "text",
    [
        HEAD + GOOD + "colour = 1\n",
        "colour = 1\n" + HEAD + GOOD,
        HEAD + '[miner]\nurl = "https://m"\nstudy = "s"\nport = 1\n' + GOOD,
        HEAD + good("binary, p1 = 0.1, p2 = 0.1, q = 2"),
        HEAD + good("magic"),
        HEAD + good("symmetric"),
        HEAD + good("gamma-diagonal, gamma = 2, epsilon = 1"),
        HEAD + good('grouped, groups = [["a", "b"]]'),
        HEAD + good("gamma-diagonal, p = 0.1, gamma = 2"),
        HEAD + good("mask"),
        HEAD + good("cut-and-paste, keep = 1"),
        HEAD + good("cut-and-paste, keep = -1, rho = 0.1"),
        HEAD + good("sampled, gamma = 2"),
        HEAD + GOOD + "cuts = [1]\n",
        HEAD + GOOD.replace("sensitive = false\n", ""),
        HEAD,
        HEAD + GOOD + GOOD,
        HEAD + GOOD + GOOD.replace('"A"', '"B"\ncolumn = "A"'),
        HEAD + GOOD.replace('"A"', '"id"'),
        HEAD.replace("t.csv", "t.sav") + GOOD,
        HEAD + GOOD + '[[blocks]]\nvariables = ["A", "Z"]\n'
        'channel = { kind = "symmetric", p = 0.1 }\n',
        HEAD + '[miner]\nurl = "http://far.example"\nstudy = "s"\n' + GOOD,
        HEAD + '[miner]\nurl = "ftp://m"\nstudy = "s"\n' + GOOD,
        HEAD + '[miner]\nurl = "https://m"\nstudy = "a/b"\n' + GOOD,
        HEAD + GOOD.replace('categories = ["a", "b"]', "cuts = [2, 1]"),
        "owner = ",
    ],
)
def test_a_site_file_that_is_wrong(tmp_path, text):
    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load_site(path)
    assert str(path) in raised.value.message
    assert list(tmp_path.iterdir()) == [path]


def _told(tmp_path, text):
    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        load_site(path)
    return raised.value


BLOCK = GOOD + GOOD.replace('"A"', '"B"') + '[[blocks]]\nvariables = ["A", "B"]\n'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (good("cut-and-paste, keep = -1, rho = 0.1"),
         "variables[1].channel.keep"),
        (good("matrix, rows = [[1, 0], [0, inf]]"),
         "variables[1].channel.rows[2][2]"),
        (BLOCK + 'channel = { kind = "sampled", size = 0, gamma = 2 }\n',
         "blocks[1].channel.size"),
        (good("magic"), "variables[1].channel"),
        (good("mask, p = 0.9, channel = { mask = 1 }"),
         "variables[1].channel.channel"),
    ],
)  # fmt: skip
def test_a_place_in_a_channel_is_written_as_in_the_file(tmp_path, text, place):
    told = _told(tmp_path, HEAD + text)
    assert told.where == place
    assert f"{place}: " in told.message or f"unknown key {place}" in told.message


def test_a_site_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError):
        load_site(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    "miner",
    [
        'url = "http://127.0.0.1:8000"',
        'url = "http://[::1]:8000"',
        'url = "https://far.example"',
        'url = "http://far.example"\nallow_insecure = true',
    ],
)
def test_an_address_that_is_safe_or_accepted_as_unsafe(tmp_path, miner):
    assert site_of(tmp_path, f'[miner]\n{miner}\nstudy = "s"\n{GOOD}').miner.study == "s"


def test_without_a_miner_there_is_nowhere_to_publish(tmp_path):
    with pytest.raises(ConfigError):
        _ = site_of(tmp_path, GOOD).miner


def test_categories_come_from_a_public_list(tmp_path):
    (tmp_path / "list.txt").write_text("north\n\n south \n", encoding="utf-8")
    text = GOOD.replace('categories = ["a", "b"]', 'categories_from = "list.txt"')
    assert planned(site_of(tmp_path, text)).variables["A"].categories == ("north", "south")
    (tmp_path / "list.txt").unlink()
    with pytest.raises(ConfigError):
        planned(site_of(tmp_path, text))


GROUPED = GOOD.replace('["a", "b"]', '["a", "b, c", "d"]')
NESTED = {"all": {"x = y": ["a"], "z": ["b, c"]}, "é": ["d"]}
FLAT = {"all": ["x = y", "z"], "x = y": ["a"], "z": ["b, c"], "é": ["d"]}
IN_A_FILE = 'category,group\nx = y,all\nz,all\na,x = y\n"b, c",z\nd,é\n'


@pytest.mark.parametrize(
    ("text", "content", "expected"),
    [
        ('groups = { all = { "x = y" = ["a"], z = ["b, c"] }, "é" = ["d"] }\n', None, NESTED),
        ('[variables.groups]\nall = ["a", "b, c", "d"]\n', None, {"all": ["a", "b, c", "d"]}),
        ('groups = "groups.csv"\n', IN_A_FILE, FLAT),
        ('groups = "groups.csv"\n', "\ufeff" + IN_A_FILE.replace("\n", "\r\n"), FLAT),
        ('groups = "groups.csv"\n', None, ConfigError),
        ('groups = "groups.csv"\n', "", ConfigError),
        ('groups = "groups.csv"\n', IN_A_FILE.replace(",", ";"), ConfigError),
        ('groups = "groups.csv"\n', IN_A_FILE.replace('"', ""), ConfigError),
        ('groups = { all = ["a", "b, c"] }\n', None, ConfigError),
        ('groups = { all = ["a", "b, c", "d"], more = ["d"] }\n', None, ConfigError),
        ('groups = { all = ["a", "b, c", "d", "e"] }\n', None, ConfigError),
        ('groups = { all = ["a", "b, c", "d"], none = [] }\n', None, ConfigError),
        ("groups = {}\n", None, ConfigError),
    ],
)
def test_a_variable_may_state_groups_of_its_categories(tmp_path, text, content, expected):
    if content is not None:
        (tmp_path / "groups.csv").write_text(content, encoding="utf-8", newline="")
    site = site_of(tmp_path, GROUPED + text)
    if isinstance(expected, dict):
        assert planned(site).groups == {"A": expected}
        return
    with pytest.raises(ConfigError) as refused:
        planned(site)
    assert refused.value.where == "A"


def test_missing_must_be_a_category(tmp_path):
    with pytest.raises(ConfigError):
        planned(site_of(tmp_path, GOOD + 'missing = "?"\n'))


def test_a_category_that_no_cell_could_match_is_refused(tmp_path):
    with pytest.raises(ConfigError):
        planned(one(tmp_path, "", '["a ", "b"]', "false"))


def test_a_plan_that_the_contract_cannot_carry_is_refused(tmp_path):
    (tmp_path / "list.txt").write_text("x" * 300 + "\ny\n", encoding="utf-8")
    text = GOOD.replace('categories = ["a", "b"]', 'categories_from = "list.txt"')
    with pytest.raises(PlanError):
        planned(site_of(tmp_path, text))


SPREAD = "[[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]"


def test_reports_that_each_fit_one_category_only_are_refused(tmp_path):
    """Random as they are, they tell the truth."""
    channel = f"matrix, rows = {SPREAD}"
    with pytest.raises(UnprotectedVariable) as told:
        planned(one(tmp_path, channel))
    assert told.value.where == "A"
    assert planned(one(tmp_path, channel, sensitive="false")).plan.blocks
    blurred = SPREAD.replace("0.5, 0.5, 0, 0", "0.5, 0.4, 0.1, 0")
    planned(one(tmp_path, f"matrix, rows = {blurred}"))


def _joint(tmp_path, channel, sensitive=("true", "true")):
    variables = "".join(
        f'[[variables]]\nname = "{n}"\ncategories = ["{n}0", "{n}1"]\nsensitive = {s}\n'
        for n, s in zip("ab", sensitive, strict=True)
    )
    block = f'[[blocks]]\nvariables = ["a", "b"]\nchannel = {channel_of(channel)}\n'
    return site_of(tmp_path, variables + block)


def test_a_sensitive_variable_that_its_block_gives_away_is_refused(tmp_path):
    # Cells a0b0, a0b1, a1b0, a1b1: a decides which two are reported, and b how; so the reports of
    # a alone depend on b, and only the block's report gives a away.
    hidden = "[[0.7, 0, 0, 0.3], [0.4, 0, 0, 0.6], [0, 0.8, 0.2, 0], [0, 0.1, 0.9, 0]]"
    channel = f"matrix, rows = {hidden}"
    with pytest.raises(UnprotectedVariable):
        planned(_joint(tmp_path, channel))
    made = planned(_joint(tmp_path, channel, ("false", "true")))
    assert made.plan.blocks[0].restrict(["a"]) is None


FAULTS = """
owner = "clinic"
table = "t.csv"
record_id = "id"
[miner]
url = "ftp://nowhere"
study = "s"
[[variables]]
name = "A"
categories = ["a # no comment", "b = ["]
sensitiv = true
[[variables]]
name = "B"
categories = ["a", "b"]
sensitive = true
channel = { kind = "symmetric", p = "much" }
[[variables]]
name = "C"
column = "id"
categories = ["a", "b"]
sensitive = false
[[blocks]]
variables = ["C", "Q"]
channel = { kind = "symmetric", p = 0.1 }
"""


def test_all_faults_are_told_at_once_each_with_its_place(tmp_path):
    message = _told(tmp_path, FAULTS).message
    for said in (
        "miner: ",
        "missing key variables[1].sensitive",
        "unknown key variables[1].sensitiv (did you mean 'sensitive'?)",
        "variables[2].channel.p: ",
    ):
        assert said in message, message
    right = FAULTS.replace("ftp://", "https://").replace("sensitiv =", "sensitive =")
    message = _told(tmp_path, right.replace('"much"', "0.1")).message
    for said in ("'id'", "'Q'"):
        assert said in message, message


@pytest.mark.parametrize(
    "entry",
    [
        'sensitive = false\nreveals = ["sexx"]',
        'sensitive = true\nreveals = ["sex"]',
        'sensitive = false\nchannel = { kind = "symmetric", p = 0.1 }\nreveals = ["sex"]',
    ],
)
def test_a_variable_reveals_others_only_where_it_leaves_as_it_is(tmp_path, entry):
    listed = 'categories = ["0", "1"]\n'
    with pytest.raises(ConfigError):
        site_of(
            tmp_path,
            f'[[variables]]\nname = "sex"\n{listed}sensitive = true\n'
            f'[[variables]]\nname = "flag"\n{listed}{entry}\n',
        )


def test_entries_that_are_not_under_headers_are_not_changed(tmp_path):
    path = tmp_path / "site.toml"
    inline = 'variables = [{ name = "A", categories = ["a", "b"], sensitive = true }]\n'
    path.write_text(HEAD + inline + "blocks = []\n")
    for sections, variables in (({}, {"A": None}), ({"blocks": [{"variables": ["A"]}]}, {})):
        with pytest.raises(ConfigError) as raised:
            ExtendedSite.of(path, sections, variables)
        assert raised.value.where == str(path)

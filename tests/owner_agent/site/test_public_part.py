"""The public part of a site file: what is in it, what is not, and what happens if it is changed."""

import json

import pytest

from owner_agent.site.public_part import PublicPart, read_part, write_part
from owner_agent.site.site import load_site
from pramana_core.errors import ConfigError, OptionError

SITE = """
owner = "care"
table = "SECRET-TABLE.csv"
record_id = "SECRET-ID"
state = "SECRET-STATE"

[miner]
url = "https://secret.example.org"
study = "nursery"

[[variables]]
name = "health"
column = "SECRET-COLUMN"
categories = ["good", "poor"]
sensitive = true

[[variables]]
name = "age"
cuts = [3, 5]
missing = "?"
sensitive = true

[[variables]]
name = "region"
categories = ["SECRET-PUBLIC", "b"]
sensitive = false
"""


@pytest.fixture
def site(tmp_path):
    """The path of a site file whose table is not there: it is not read."""
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return path


@pytest.fixture
def written(site, tmp_path):
    """The path of its public part."""
    path = tmp_path / "care.public.toml"
    write_part(PublicPart.of(load_site(site), "same"), path)
    return path


def test_names_and_categories_are_in_it_and_nothing_else(written):
    assert "secret" not in written.read_text().lower()
    part = read_part(written)
    assert (part.owner, part.people) == ("care", "same")
    assert [(v.name, v.categories) for v in part.variables] == [
        ("health", ("good", "poor")),
        ("age", ("<3", "3-5", ">=5", "?")),
    ]


def test_again_is_harmless_and_another_is_not_written_over(site, written):
    before = written.read_bytes()
    write_part(PublicPart.of(load_site(site), "same"), written)
    with pytest.raises(OptionError, match="exists and is another file"):
        write_part(PublicPart.of(load_site(site)), written)
    assert written.read_bytes() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"good", "poor"', '"good", "poor", "fair"'),
        ('"<3", ', ""),
        ('"good", "poor"', '"poor", "good"'),
        ('"health"', '"wealth"'),
        ('owner = "care"', 'owner = "means"'),
        ('people = "same"', 'people = "overlapping"'),
        ('people = "same"\n', ""),
    ],
)
def test_a_part_that_somebody_changed_is_told(written, before, after):
    text = written.read_text()
    assert before in text
    written.write_text(text.replace(before, after, 1))
    with pytest.raises(ConfigError, match="is not as .* wrote it") as raised:
        read_part(written)
    assert "`owner-agent public-part`" in str(raised.value.remedy)


def test_a_site_file_is_not_taken_for_its_public_part(site):
    with pytest.raises(ConfigError, match="for its owner's eyes only") as raised:
        read_part(site)
    assert "owner-agent public-part --site site.toml" in str(raised.value.remedy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("owner = 'care'", "missing key digest.*missing key variables"),
        ("owner = ", "is not TOML"),
        ("x = 1\nowner = 'a'", "unknown key x"),
    ],
)
def test_what_is_no_part_is_told(tmp_path, text, said):
    path = tmp_path / "part.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_part(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_part(tmp_path / "absent.toml")


def test_nothing_sensitive_has_no_part_in_a_plan(site):
    site.write_text(SITE.replace("sensitive = true", "sensitive = false"))
    with pytest.raises(ConfigError, match="no sensitive variable"):
        PublicPart.of(load_site(site))


def test_the_command_writes_the_part(bench, command):
    path = bench.folder / "clinic-north.public.toml"
    assert f"Wrote {path}" in command("public-part").out.replace("\n", "")
    assert read_part(path).owner == "clinic-north"
    other = bench.folder / "other.toml"
    told = json.loads(command("public-part", "--out", str(other), "--people", "same", "--json").out)
    assert (told["file"], told["people"]) == (str(other), "same")
    wrong = command("public-part", "--people", "some")
    assert (wrong.exit_code, "same, different, overlapping" in wrong.err) == (2, True)

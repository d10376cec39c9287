"""The public part of a site file: what is in it, what is not, and what happens if it is changed."""

import pytest

from owner_agent.site.public_part import PublicPart, place_of_part, read_part
from owner_agent.site.site import load_site
from pramana_core.errors import ConfigError

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
    path.write_text(PublicPart.of(load_site(site)).text)
    return path


def test_names_and_categories_are_in_it_and_nothing_else(written):
    assert "secret" not in written.read_text().lower()
    part = read_part(written)
    assert part.owner == "care"
    assert [(v.name, v.categories) for v in part.variables] == [
        ("health", ("good", "poor")),
        ("age", ("<3", "3-5", ">=5", "?")),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"good", "poor"', '"good", "poor", "fair"'),
        ('"<3", ', ""),
        ('"good", "poor"', '"poor", "good"'),
        ('"health"', '"wealth"'),
        ('owner = "care"', 'owner = "means"'),
    ],
)
def test_a_part_that_somebody_changed_is_told(written, before, after):
    text = written.read_text()
    assert before in text
    written.write_text(text.replace(before, after, 1))
    with pytest.raises(ConfigError) as raised:
        read_part(written)
    assert raised.value.where == str(written)


@pytest.mark.parametrize("text", [SITE, "owner = 'care'", "owner = ", "x = 1\nowner = 'a'"])
def test_what_is_no_part_is_refused(tmp_path, text):
    """Among it a site file, which is for its owner's eyes only."""
    path = tmp_path / "part.toml"
    path.write_text(text)
    for file in (path, tmp_path / "absent.toml"):
        with pytest.raises(ConfigError):
            read_part(file)


def test_nothing_sensitive_has_no_part_in_a_plan(site):
    site.write_text(SITE.replace("sensitive = true", "sensitive = false"))
    with pytest.raises(ConfigError):
        PublicPart.of(load_site(site))


def test_the_command_writes_the_part(bench, command):
    path = bench.folder / "clinic-north.public.toml"
    for _ in range(2):  # Again is harmless.
        assert command("public-part").exit_code == 0
        assert read_part(path).owner == "clinic-north"
    other = bench.folder / "other.toml"
    other.write_text("something else")
    assert command("public-part", "--out", str(other)).exit_code == 2
    assert other.read_text() == "something else"
    other.unlink()
    assert command("public-part", "--out", str(other)).exit_code == 0
    assert read_part(other) == read_part(path)


@pytest.mark.parametrize(
    ("site", "part"), [("site.toml", "care"), ("visits.csv.toml", "visits.csv")]
)
def test_site_files_of_one_folder_have_parts_of_their_own(tmp_path, site, part):
    assert place_of_part(tmp_path / site, "care") == tmp_path / f"{part}.public.toml"

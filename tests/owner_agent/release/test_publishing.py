"""What draws of published records cost: other names, other ids, copies, more rows, corrections."""

import json
import math
from dataclasses import replace

import httpx
import pytest

from owner_agent.release.composition import spent
from owner_agent.release.delivery import withdraw
from owner_agent.release.ledger import Ledger
from owner_agent.release.outbox import MANIFEST, prepare
from pramana_core.errors import (
    LimitExceeded,
    NotFound,
    NotReady,
    OptionError,
    PlanConflict,
    RecordsCorrected,
    StoreCorrupt,
    Unreachable,
)
from pramana_core.rounding import rounded_up
from tests.owner_agent.release.publishing import drawn_anew, published, reports_of


def _states(bench):
    return [(entry.name, entry.state) for entry in Ledger(bench.state).entries()]


def test_the_miner_is_told_which_draws_are_the_same(bench, table_text, site_text):
    """More records repeat their draws; another channel, or the people under other ids, do not."""

    def told(**options):
        published(bench, **options)
        return bench.miner.sealed()[-1]["manifest"].draws

    first = told()
    assert len(set(first)) == len(first) == 3
    bench.write(table=table_text(60))
    assert told() == first
    bench.write(site_text.replace("p = 0.4", "p = 0.5"))
    other = told(accept_added_loss=True)
    assert [a == b for a, b in zip(first, other, strict=True)] == [True, False, True]
    bench.write(site_text, table_text(60).replace("PATIENT", "PERSON"))
    renamed = told(accept_added_loss=True)
    # What is told as it is draws nothing.
    assert [a == b for a, b in zip(first, renamed, strict=True)] == [False, False, True]


def test_stated_groups_are_sent_and_change_nothing_else(bench, site_text):
    """Groups that are stated later are sent by another `publish`, without a release or a draw."""
    listed = 'categories = ["north", "south", "east"]'
    published(bench)
    before = bench.miner.sealed()[0]["manifest"]
    ledger = _states(bench)
    for stated in ({"all": ["north", "south", "east"]}, {"a": ["north"], "b": ["south", "east"]}):
        words = ", ".join(f"{name} = {json.dumps(own)}" for name, own in stated.items())
        bench.write(site_text.replace(listed, f"{listed}\ngroups = {{ {words} }}"))
        published(bench)
        (sealed,) = bench.miner.sealed()
        assert list(sealed["manifest"].groups.values()) == [stated]
        bare = sealed["manifest"].model_copy(update={"groups": None})
        assert (bare, before.groups) == (before, None)
        assert _states(bench) == ledger


def _renamed(text, prefix):
    return text.replace("PATIENT", prefix)


def test_the_same_table_under_other_record_ids_is_refused(bench, table_text):
    published(bench)
    before = bench.files()
    bench.write(table=_renamed(table_text(50), "PERSON"))
    with pytest.raises(PlanConflict) as raised:
        published(bench)
    assert raised.value.where == "smokes, age"
    once, twice = math.log(7.5), 2 * math.log(7.5)
    assert (
        f"'smokes': epsilon {rounded_up(once)} would become {rounded_up(twice)}"
        in raised.value.message
    )
    assert "PERSON" not in str(raised.value)
    assert bench.files() == before
    assert len(bench.miner.releases) == 1
    published(bench, accept_added_loss=True)
    assert spent(Ledger(bench.state).entries())["smokes"] == pytest.approx(twice)
    # Both populations have left: more of either adds nothing.
    for rows, prefix in [(70, "PERSON"), (70, "PATIENT")]:
        bench.write(table=_renamed(table_text(rows), prefix))
        published(bench, accept_new_people=True)
    assert spent(Ledger(bench.state).entries())["smokes"] == pytest.approx(twice)


def test_rows_may_come_or_go_and_a_few_may_do_both(bench, table_text):
    once = pytest.approx(math.log(7.5))
    published(bench)
    for rows, start in [(60, 0), (20, 0), (58, 2), (60, 0)]:
        bench.write(table=table_text(rows, start=start))
        published(bench)
    assert spent(Ledger(bench.state).entries())["smokes"] == once
    # A third of them gone and as many others come: they could be the same people renamed.
    bench.write(table=table_text(60, start=20))
    with pytest.raises(PlanConflict):
        published(bench)
    assert spent(Ledger(bench.state).entries())["smokes"] == once


def test_a_release_of_public_columns_says_nothing_of_populations(bench, site_text, table_text):
    """Nothing was drawn in it, so it neither hides other record ids nor invents them."""
    published(bench)
    head, *_, region = site_text.split("[[variables]]")
    public = f"{head}[[variables]]{region}"
    bench.write(site=public)
    published(bench)
    bench.write(site=public, table=_renamed(table_text(50), "PERSON"))
    published(bench)
    bench.write(site=site_text, table=table_text(50))
    assert published(bench).already
    bench.write(table=table_text(51))
    published(bench)
    assert spent(Ledger(bench.state).entries())["smokes"] == pytest.approx(math.log(7.5))
    bench.write(table=_renamed(table_text(51), "PERSON"))
    with pytest.raises(PlanConflict):
        published(bench)


def test_the_record_id_columns_name_is_no_part_of_a_draw(bench, site_text, table_text):
    """Under another header the same ids are the same records: reported as before, at no cost."""
    published(bench)
    bench.write(
        site_text.replace('"patient_id"', '"person"'),
        table_text(50).replace("patient_id", "person"),
    )
    assert published(bench).already
    assert len(bench.miner.releases) == 1


def test_only_what_left_can_be_withdrawn(bench):
    with pytest.raises(NotFound):
        withdraw(bench.site, "r-0", bench.environment)
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable):
        published(bench)
    with pytest.raises(NotReady):
        withdraw(bench.site, _states(bench)[0][0], bench.environment)


@pytest.fixture
def prepared(bench, killed, monkeypatch):
    """A release that was prepared, but not yet in the ledger when the agent died: its manifest."""

    def die(*_):
        raise killed

    with monkeypatch.context() as patch:
        patch.setattr("owner_agent.release.publish.upsert_entry", die)
        with pytest.raises(killed):
            published(bench)
    (path,) = (bench.state / "outbox").glob(f"*/{MANIFEST}")
    return path


def test_a_release_prepared_with_other_draws_is_not_sent(bench, prepared):
    written = json.loads(prepared.read_text())
    written["draws"] = ["another" for _ in written["draws"]]
    prepared.write_text(json.dumps(written))
    with pytest.raises(StoreCorrupt):
        published(bench)
    assert bench.miner.sealed() == []


def test_a_session_prepared_the_same_records_before_they_are_published(bench, prepared):
    """A session with peers prepares the same bytes, and names neither draws nor linkage."""
    written = json.loads(prepared.read_text())
    assert written["draws"] is not None
    prepared.write_text(json.dumps(written | {"draws": None, "keyed_draws": None, "linkage": None}))
    published(bench)
    (release,) = bench.miner.sealed()
    assert release["manifest"].draws is None
    assert release["manifest"].name == written["name"]


def test_a_session_prepares_the_same_records_after_they_were_published(bench, monkeypatch):
    seen = []

    def watched(outbox, records, per_part):
        seen.append(records)
        return prepare(outbox, records, per_part)

    monkeypatch.setattr("owner_agent.release.publish.prepare", watched)
    published(bench)
    (path,) = (bench.state / "outbox").glob(f"*/{MANIFEST}")
    before = path.read_bytes()
    bare = replace(seen[0], draws=None, linkage=None)
    assert prepare(bench.state / "outbox", bare, 20).manifest.draws is not None
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("per_part", "rows", "error"),
    [(0, 50, OptionError), (1, 10_001, LimitExceeded)],
)
def test_impossible_parts(bench, table_text, per_part, rows, error):
    bench.write(table=table_text(rows))
    with pytest.raises(error):
        published(bench, part_records=per_part)
    assert bench.miner.requests == []


@pytest.fixture
def corrected(bench, table_text):
    """The bench after a release, with every smoker corrected to a non-smoker since."""
    published(bench)
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench


def test_the_site_file_may_choose_for_good(corrected, site_text):
    corrected.write('corrections = "keep"\n' + site_text)
    assert published(corrected).stale == 22
    drawn_anew(corrected)
    assert published(corrected).stale == 0


def test_in_a_sampled_block_no_record_changes_its_subset(bench, site_text, table_text):
    """A change of one variable would choose another subset for two records in three."""
    block = (
        '[[blocks]]\nvariables = ["smoker", "age"]\n'
        'channel = { kind = "sampled", size = 1, gamma = 5.0 }\n'
    )
    text = site_text.replace('channel = { kind = "binary", p1 = 0.1, p2 = 0.25 }', "")
    site = text.replace('channel = { kind = "symmetric", p = 0.4 }', "") + block
    bench.write(site)
    published(bench)
    bench.write(site, table_text(50).replace(",yes,", ",no,"))
    with pytest.raises(RecordsCorrected):
        published(bench)
    bench.write(site, table_text(51).replace(",yes,", ",no,"))
    published(bench, corrections="keep")
    old, new = (reports_of(release) for release in bench.miner.sealed())
    assert {key: new[key] for key in old} == old

"""A custodian who corrects records and publishes again, and what everybody reads then."""

import json

import pytest

from owner_agent.release.ledger import Ledger
from pramana_core.errors import RecordsCorrected
from tests.owner_agent.release.publishing import drawn_anew, published, reports_of


@pytest.fixture
def corrected(bench, table_text):
    """The bench after a release, with every smoker corrected to a non-smoker since."""
    published(bench)
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench


def test_reports_that_would_differ_are_counted_and_refused(corrected):
    with pytest.raises(RecordsCorrected) as refused:
        published(corrected)
    assert "--corrections keep" in refused.value.remedy
    assert "owner-agent new-epoch" in refused.value.remedy
    assert len(corrected.miner.releases) == 1
    assert [e.state for e in Ledger(corrected.state).entries()] == ["sealed"]


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


@pytest.mark.slow
def test_what_the_commands_say(corrected, command):
    ended = command("publish", "--yes")
    assert ended.exit_code == 2
    said = " ".join(ended.err.split())
    assert "'smoker' 22 of 50" in said
    assert "owner-agent new-epoch" in said
    shown = " ".join(command("plan").out.split())
    assert "smoker: 22 of 50 records that left before would be reported differently" in shown
    assert "(epsilon 2.015)" in shown
    assert "(epsilon 4.03 for everybody)" in shown
    (block, other) = json.loads(command("plan", "--json").out)["corrections"]["blocks"]
    assert (block["reported_before"], block["would_differ"]) == (50, 22)
    assert (other["block"], other["would_differ"]) == ("age", 0)
    page = (corrected.state / "report" / "plan.html").read_text()
    assert "have other values now" in page
    assert "22" in page
    kept = command("publish", "--yes", "--corrections", "keep")
    assert "22 records keep the report of a value that was corrected since" in kept.out
    assert command("new-epoch", "--yes").exit_code == 0
    assert command("publish", "--yes", "--accept-added-loss").exit_code == 0
    assert command("publish", "--yes", "--corrections", "fresh").exit_code == 2
    found = json.loads(command("plan", "--json").out)["corrections"]["blocks"][0]
    assert found["would_differ"] == 0

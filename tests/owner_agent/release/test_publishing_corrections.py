"""A custodian who corrects records and publishes again, and what everybody reads then."""

import errno
import json
import shutil

import httpx
import pytest

from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.release.memory import load_memory
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import RecordsCorrected, StorageFull, StoreCorrupt, Unreachable
from tests.owner_agent.release.publishing import drawn_anew, published, reports_of

EPSILON = 2.0149  # ln 7.5 of the binary channel


def _spent(bench):
    return spent(Ledger(bench.state).entries())


@pytest.fixture
def corrected(bench, table_text):
    """The bench after a release, with every smoker corrected to a non-smoker since."""
    published(bench)
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench


def test_reports_that_would_differ_are_counted_and_refused(corrected):
    with pytest.raises(RecordsCorrected, match=r"'smoker' 22 of 50") as refused:
        published(corrected)
    assert "--corrections keep" in refused.value.remedy
    assert "owner-agent new-epoch" in refused.value.remedy
    assert len(corrected.miner.releases) == 1
    assert [e.state for e in Ledger(corrected.state).entries()] == ["sealed"]


def test_kept_reports_are_those_that_left(corrected, table_text):
    outcome = published(corrected, corrections="keep")
    assert (outcome.already, outcome.stale) == (True, 22)
    corrected.write(table=table_text(60).replace(",yes,", ",no,"))
    published(corrected, corrections="keep")
    old, new = (reports_of(release) for release in corrected.miner.sealed())
    assert {key: new[key] for key in old} == old
    assert len(new) == 60
    assert _spent(corrected)["smokes"] == pytest.approx(EPSILON, abs=1e-4)


def test_a_value_corrected_back_and_forth_stays_reported_as_first(corrected, table_text):
    first = reports_of(corrected.miner.sealed()[0])
    for rows in range(51, 56):
        text = table_text(rows)
        corrected.write(table=text.replace(",yes,", ",no,") if rows % 2 else text)
        published(corrected, corrections="keep")
        newest = reports_of(corrected.miner.sealed()[-1])
        assert {key: newest[key] for key in first} == first


def test_records_that_left_only_later_keep_that_report(bench, table_text):
    """A record that joins, goes, changes and comes back."""
    published(bench)
    bench.write(table=table_text(52))
    published(bench)
    second = reports_of(bench.miner.sealed()[-1])
    bench.write(table=table_text(50))
    published(bench)
    flipped = table_text(52).replace("PATIENT-00051,no", "PATIENT-00051,yes")
    bench.write(table=flipped + "PATIENT-90000,no,33,east,new\n")
    assert flipped != table_text(52)
    published(bench, corrections="keep")
    newest = reports_of(bench.miner.sealed()[-1])
    assert {key: newest[key] for key in second} == second


def test_a_new_epoch_draws_everybody_anew_and_adds_up(corrected):
    before = _spent(corrected)
    outcome = drawn_anew(corrected)
    assert (outcome.already, outcome.stale) == (False, 0)
    old, new = (reports_of(release) for release in corrected.miner.sealed())
    assert old != new
    assert _spent(corrected)["smokes"] == pytest.approx(2 * EPSILON, abs=1e-4)
    assert _spent(corrected)["age"] == pytest.approx(2 * before["age"])
    # From now on that epoch's draws are the ones that repeat.
    again = published(corrected)
    assert (again.already, again.name) == (True, outcome.name)
    assert _spent(corrected)["smokes"] == pytest.approx(2 * EPSILON, abs=1e-4)


def test_each_further_epoch_adds_once_more(corrected, table_text):
    drawn_anew(corrected)
    corrected.write(table=table_text(50))
    with pytest.raises(RecordsCorrected):
        published(corrected)
    drawn_anew(corrected, seconds=1)
    assert _spent(corrected)["smokes"] == pytest.approx(3 * EPSILON, abs=1e-4)
    first, _, third = (reports_of(release) for release in corrected.miner.sealed())
    assert first != third, "the first epoch's reports of the first values came back"


def test_the_site_file_may_choose_for_good(corrected, site_text):
    corrected.write('corrections = "keep"\n' + site_text)
    assert published(corrected).stale == 22
    drawn_anew(corrected)
    assert published(corrected).stale == 0


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("request_number", range(6))
def test_killed_while_publishing_corrections_then_once_more(
    corrected, killed, table_text, when, request_number
):
    corrected.write(table=table_text(55).replace(",yes,", ",no,"))
    corrected.miner.faults = [None] * request_number + [(when, killed())]
    with pytest.raises(killed):
        published(corrected, corrections="keep")
    published(corrected, corrections="keep")
    old, new = (reports_of(release) for release in corrected.miner.sealed())
    assert {key: new[key] for key in old} == old
    assert _spent(corrected)["smokes"] == pytest.approx(EPSILON, abs=1e-4)


def test_what_never_left_binds_nobody(bench, table_text, killed):
    """The miner could not be reached, and the table was corrected meanwhile."""
    bench.miner.faults = [("before", killed())]
    with pytest.raises(killed):
        published(bench)
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    assert not published(bench).already
    assert len(bench.miner.sealed()) == 1


def test_without_the_memory_a_second_release_is_refused(corrected):
    shutil.rmtree(corrected.state / "reported")
    shutil.rmtree(corrected.state / "outbox")
    for choice in (None, "keep"):
        with pytest.raises(StoreCorrupt, match="not remembered what each record") as refused:
            published(corrected, corrections=choice)
        assert "owner-agent new-epoch" in refused.value.remedy
    drawn_anew(corrected)
    assert _spent(corrected)["smokes"] == pytest.approx(2 * EPSILON, abs=1e-4)


def test_an_older_memory_from_a_backup_is_not_believed(bench, table_text):
    published(bench)
    backup = (bench.state / "reported" / "asia.arrow").read_bytes()
    bench.write(table=table_text(60))
    published(bench)
    shutil.rmtree(bench.state / "outbox")
    (bench.state / "reported" / "asia.arrow").write_bytes(backup)
    bench.write(table=table_text(60).replace(",yes,", ",no,"))
    with pytest.raises(StoreCorrupt, match=bench.miner.sealed()[1]["manifest"].name):
        published(bench)


def test_the_memory_holds_every_release(bench, table_text):
    for rows in (50, 60):
        bench.write(table=table_text(rows))
        published(bench)
    contents = {entry.content for entry in Ledger(bench.state).entries()}
    assert load_memory(bench.state, "asia").releases == contents


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
    with pytest.raises(RecordsCorrected, match=r"'smoker\*age' \d+ of 50"):
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


def test_a_plan_of_a_table_that_is_wrong_says_that_nothing_was_compared(corrected, command):
    corrected.write(table="patient_id,smokes,age,region\nP1,perhaps,30,north\n")
    found = json.loads(command("plan", "--json").out)["corrections"]
    assert (found["compared"], found["blocks"]) == (False, [])
    assert "perhaps" not in found["reason"]
    assert json.loads(command("plan", "--records", "9", "--json").out)["corrections"] is None


def test_a_manifest_that_the_miner_may_have_binds(bench, table_text):
    """It holds digests of the reports: who guesses a corrected record could check the guess."""
    bench.miner.faults = [None, None, None, ("after", httpx.ReadError("cut"))]
    with pytest.raises(Unreachable):
        published(bench)
    assert [entry.state for entry in Ledger(bench.state).entries()] == ["sending"]
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    with pytest.raises(RecordsCorrected, match=r"'smoker' 22 of 50"):
        published(bench)
    assert not bench.miner.sealed()
    bench.write(table=table_text(50))
    assert not published(bench).already


def test_a_full_disk_lets_nothing_leave(bench, monkeypatch, command):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("owner_agent.release.memory.replacing", full)
    ended = command("publish", "--yes")
    assert ended.exit_code == 4
    assert "No space left on device" in ended.err
    assert "Nothing left" in ended.err
    assert not bench.miner.releases
    monkeypatch.undo()
    assert not published(bench).already


def test_a_temporary_file_of_a_full_disk_goes(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("owner_agent.state.private_files.os.fsync", full)
    with pytest.raises(StorageFull, match="no room for a file"):
        write_replacing(tmp_path / "file", b"content")
    assert list(tmp_path.iterdir()) == []

"""Owners remember what a miner told of its audit log, and find out a miner that rewrote it."""

from __future__ import annotations

import json

import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.left import all_anchors, anchors_path
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish, withdraw
from owner_agent.release.randomized import PreparedRecords
from owner_agent.state.private_files import audit_log
from pramana_core.audit.log import AuditLog
from pramana_core.audit.verifying import Verified, verify, written
from pramana_core.wire.services import AuditAnchor

OPTIONS = PublishOptions(20)


def of(ended) -> tuple[int, str, str]:
    return ended.exit_code, ended.out, ended.err


def told_by(log: AuditLog) -> dict[str, object]:
    return AuditAnchor.of(log.anchor()).model_dump(mode="json")


@pytest.fixture
def log(bench, tmp_path) -> AuditLog:
    """The miner's log, of which it tells the truth."""
    made = AuditLog(tmp_path / "miner.jsonl", bench.environment.now)
    for number in range(5):
        made.write({"action": f"a{number}"})
    bench.miner.audit = told_by(made)
    return made


def test_each_publication_remembers_the_state_of_the_miners_log(bench, log):
    assert publish(PreparedRecords, bench.site, bench.environment, OPTIONS).log_warning is None
    assert publish(PreparedRecords, bench.site, bench.environment, OPTIONS).log_warning is None
    log.write({"action": "seal"})
    bench.miner.audit = told_by(log)
    (entry,) = Ledger(bench.state).entries()
    withdraw(bench.site, entry.name, bench.environment)
    ((name, known),) = all_anchors(bench.state).items()
    assert name == "127.0.0.1_9"
    assert [anchor.entries for anchor in known] == [5, 6]
    assert isinstance(verify(log.path, known), Verified)


def test_a_miner_without_such_a_log_is_no_trouble(bench):
    assert publish(PreparedRecords, bench.site, bench.environment, OPTIONS).log_warning is None
    assert all_anchors(bench.state) == {}


@pytest.mark.parametrize(("code", "told"), [("store-corrupt", True), ("not-ready", False)])
def test_a_log_that_the_miner_cannot_read_is_told(bench, code, told):
    bench.miner.audit = code
    warning = publish(PreparedRecords, bench.site, bench.environment, OPTIONS).log_warning
    assert ("is damaged" in str(warning)) == told
    assert all_anchors(bench.state) == {}


def test_a_log_cut_short_is_told_noted_and_shown(bench, log, command):
    publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:3]))
    bench.miner.audit = told_by(log)
    outcome = publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    assert "it had 5 lines" in str(outcome.log_warning)
    noted = [json.loads(line) for line in (bench.state / "audit.jsonl").read_text().splitlines()]
    assert noted[-1]["action"] == "miner_log_rewritten"
    code, out, err = of(command("audit", "anchors"))
    assert code == 4
    assert "now has 3" in err
    assert f"3:{log.anchor().head}" in out


def test_anchors_are_printed_as_verification_takes_them(bench, log, command):
    code, out, _ = of(command("audit", "anchors"))
    assert (code, "yet" in out) == (0, True)
    publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    code, out, _ = of(command("audit", "anchors", "--json"))
    ((anchor,),) = json.loads(out)["anchors"].values()
    told = f"{anchor['entries']}:{anchor['head']}"
    for known in (("--anchor", told), ("--anchors", str(bench.state))):
        code, out, err = of(command("audit", "verify", str(log.path), *known, of_site=False))
        assert (code, "1 anchors hold" in out) == (0, True), err
    log.path.write_bytes(log.path.read_bytes().replace(b"a4", b"a5"))
    code, out, err = of(command("audit", "verify", str(log.path), "--anchor", told, of_site=False))
    assert (code, "Line 5, changed" in err) == (4, True), err
    code, out, _ = of(command("audit", "verify", str(log.path), "--json", of_site=False))
    assert (code, json.loads(out)["verified"], json.loads(out)["kind"]) == (4, False, "changed")


def test_anchors_of_several_miners_must_be_named(bench, log, command):
    publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    other = anchors_path(bench.state, "https://other.example.org/x")
    assert other.name == "other.example.org_x.jsonl"
    other.write_text(written([log.anchor()]))
    verify_it = ("audit", "verify", str(log.path), "--anchors")
    code, _, err = of(command(*verify_it, str(bench.state), of_site=False))
    assert (code, "must hold the anchors of one log" in err) == (2, True)
    assert command(*verify_it, str(other), of_site=False).exit_code == 0


def test_what_left_is_in_the_agents_own_chained_log(bench, log):
    publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    own = audit_log(bench.state, bench.environment.now).anchor()
    assert isinstance(verify(bench.state / "audit.jsonl", [own]), Verified)
    told = [json.loads(line) for line in (bench.state / "audit.jsonl").read_text().splitlines()]
    actions = [line["action"] for line in told if line["action"].startswith("release_")]
    assert actions == ["release_prepared", "release_sending", "release_sending", "release_sealed"]
    (entry,) = Ledger(bench.state).entries()
    assert {line["digest"] for line in told if "digest" in line} == {entry.digest}
    assert {line["records"] for line in told if "records" in line} == {50}


def test_publishing_on_a_full_disk_does_nothing_by_halves_and_works_once_there_is_room(bench, log):
    bench.done_where_room_is_short(
        lambda: publish(PreparedRecords, bench.site, bench.environment, OPTIONS)
    )


def test_two_services_behind_one_address_have_each_its_own_log(bench, log, tmp_path):
    other = AuditLog(tmp_path / "other.jsonl", bench.environment.now)
    other.write({"action": "began"})
    warned = []
    for asked in (log, other, log, other):
        asked.write({"action": "seal"})
        bench.miner.audit = told_by(asked)
        warned.append(publish(PreparedRecords, bench.site, bench.environment, OPTIONS).log_warning)
    assert "it began anew" in str(warned[1])
    assert [warning for warning in warned if warning is not None] == [warned[1]]

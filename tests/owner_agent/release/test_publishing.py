"""Publishing against a miner in memory: what arrives, and what any interruption changes."""

import hashlib
import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.release.outbox import MANIFEST, prepare
from owner_agent.release.withdraw import withdraw
from owner_agent.site.planning import planned
from owner_agent.state import private_files
from owner_agent.state.lock import publishing_alone
from pramana_core.channels import Identity
from pramana_core.errors import (
    Conflict,
    HistoryLost,
    KeyFileError,
    LimitExceeded,
    NotFound,
    NotReady,
    OptionError,
    PlanConflict,
    Refused,
    ReleaseNotOpen,
    StoreCorrupt,
    TransportError,
    Unauthenticated,
    UnprotectedVariable,
    Unreachable,
)
from pramana_core.plan import Block, Plan
from pramana_core.wire.releases import release_digest
from tests.owner_agent.release.publishing import published, reports_of

PARTS = 3
REQUESTS = PARTS + 5


def _states(bench):
    return [(entry.name, entry.state) for entry in Ledger(bench.state).entries()]


@pytest.fixture
def uninterrupted(bench, tmp_path_factory, table_text):
    """The bodies an undisturbed publication of the bench's table sends."""
    calm = type(bench)(tmp_path_factory.mktemp("calm"), type(bench.miner)())
    calm.write(table=table_text(50))
    calm.join()
    published(calm)
    (release,) = calm.miner.sealed()
    return release["manifest"], release["bodies"]


def test_a_sealed_release_is_exactly_what_was_announced(bench):
    outcome = published(bench)
    (release,) = bench.miner.sealed()
    manifest = release["manifest"]
    assert outcome.name == manifest.name == f"r-{manifest.digest[:12]}"
    assert not outcome.already
    assert [part.records for part in manifest.parts] == [20, 20, 10]
    for part in manifest.parts:
        assert hashlib.sha256(release["bodies"][part.number]).hexdigest() == part.sha256
    plan = manifest.plan.to_plan()
    assert manifest.digest == release_digest(plan.digest, manifest.parts)
    keys = list(reports_of(release))
    assert keys == sorted(keys)
    assert len(keys) == 50
    assert plan.domain.names == ("smoker", "age", "region")
    assert plan.domain["age"].categories == ("<30", "30-45", "45-60", ">=60", "?")
    assert _states(bench) == [(manifest.name, "sealed")]
    assert len(bench.miner.lines) == REQUESTS


def test_the_outbox_holds_what_is_sent_before_it_is_sent(bench, killed):
    bench.miner.faults = [("before", killed())]
    with pytest.raises(killed):
        published(bench)
    (name, state) = _states(bench)[0]
    assert state == "prepared"
    files = bench.files()
    assert [f for f in files if f.startswith("outbox")] == [
        f"outbox/{name}/manifest.json",
        *(f"outbox/{name}/part-{n:05d}.arrow" for n in range(PARTS)),
        f"outbox/{name}/unsent",
    ]
    published(bench)
    (release,) = bench.miner.sealed()
    for number, body in release["bodies"].items():
        assert files[f"outbox/{name}/part-{number:05d}.arrow"] == body


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


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("request_number", range(REQUESTS))
def test_killed_around_any_request_then_published_again(
    bench, uninterrupted, killed, when, request_number
):
    bench.miner.faults = [None] * request_number + [(when, killed())]
    with pytest.raises(killed):
        published(bench)
    assert bench.miner.sealed() == [] or when == "after"
    published(bench)
    (release,) = bench.miner.sealed()
    assert (release["manifest"], release["bodies"]) == uninterrupted
    assert _states(bench) == [(release["manifest"].name, "sealed")]
    # Nothing the miner has acknowledged is sent again.
    arrived = request_number if when == "before" else request_number + 1
    sent = [line for line in bench.miner.lines if line.startswith("PUT")]
    repeated = max(0, len(sent) - PARTS)
    assert repeated == (1 if when == "before" and 3 < arrived <= PARTS + 3 else 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", [httpx.ReadError("cut"), httpx.ConnectError("down"), httpx.ReadTimeout("slow"), 503]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_every_request_is_tried_again(bench, uninterrupted, fault, when):
    bench.attempts = 2
    bench.miner.faults = [(when, fault), None] * REQUESTS
    published(bench)
    (release,) = bench.miner.sealed()
    assert (release["manifest"], release["bodies"]) == uninterrupted
    assert bench.slept == [0.5] * REQUESTS


def test_a_miner_that_is_down(bench):
    bench.attempts = 4
    bench.miner.faults = [("before", httpx.ConnectError("refused"))] * 4
    with pytest.raises(Unreachable) as raised:
        published(bench)
    error = raised.value
    assert error.exit_code == 5
    assert "http://127.0.0.1:9 could not be reached; tried 4 times" in error.message
    assert "is safe in the outbox; the miner could not be asked what it has" in error.message
    assert error.remedy == "`owner-agent publish` continues it with the same bytes."
    assert bench.slept == [0.5, 1.0, 2.0]
    ((name, state),) = _states(bench)
    assert state == "prepared"
    assert (bench.state / "outbox" / name / MANIFEST).exists()


def test_a_miner_that_goes_down_half_way(bench):
    bench.miner.faults = [*[None] * 5, ("before", httpx.ConnectError("refused"))]
    with pytest.raises(Unreachable, match="1 of 3 parts have arrived"):
        published(bench)
    assert [state for _, state in _states(bench)] == ["sending"]


def test_publishing_again_sends_nothing(bench):
    first = published(bench)
    before, lines = bench.files(), list(bench.miner.lines)
    again = published(bench)
    assert again.already
    assert again.asked
    assert (again.name, again.digest) == (first.name, first.digest)
    # Only asked what it has, and whether this is there still.
    assert bench.miner.lines == [*lines, lines[0], lines[3]]
    assert bench.files() == before


def test_a_miner_that_lost_a_sealed_release_gets_it_again(bench, uninterrupted):
    first = published(bench)
    bench.miner.releases.clear()
    bench.miner.faults = [None] * 3 + [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable, match="1 of 3 parts have arrived"):
        published(bench)
    # Whatever the size of parts is now: the bytes are those of the outbox.
    again = published(bench, part_records=7)
    assert not again.already
    assert again.name == first.name
    (release,) = bench.miner.sealed()
    assert (release["manifest"], release["bodies"]) == uninterrupted
    assert _states(bench) == [(first.name, "sealed")]


def test_a_sealed_release_whose_miner_is_down(bench):
    name = published(bench).name
    before = bench.files()
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable) as raised:
        published(bench)
    assert "sealed it before, and could not be asked" in raised.value.message
    assert "0 of 3" not in raised.value.message
    assert _states(bench) == [(name, "sealed")]
    assert bench.files() == before


def test_parts_of_another_size_are_not_another_release(bench, uninterrupted, killed):
    bench.miner.faults = [None] * 3 + [("before", killed())]
    with pytest.raises(killed):
        published(bench)
    published(bench, part_records=7)
    (release,) = bench.miner.sealed()
    assert (release["manifest"], release["bodies"]) == uninterrupted
    assert published(bench, part_records=9).already
    assert len(bench.miner.releases) == 1


def test_a_sealed_release_needs_no_outbox_any_more(bench):
    name = published(bench).name
    shutil.rmtree(bench.state / "outbox")
    lines = list(bench.miner.lines)
    again = published(bench)
    assert (again.already, again.asked) == (True, False)
    assert bench.miner.lines == lines
    assert _states(bench) == [(name, "sealed")]


def test_a_lost_outbox_is_written_again(bench, uninterrupted, killed):
    bench.miner.faults = [None] * 3 + [("before", killed())]
    with pytest.raises(killed):
        published(bench)
    shutil.rmtree(bench.state / "outbox")
    published(bench)
    (release,) = bench.miner.sealed()
    assert (release["manifest"], release["bodies"]) == uninterrupted


def test_row_order_does_not_matter(bench, table_text):
    first = published(bench)
    head, *rows = table_text(50).splitlines()
    bench.write(table="\n".join([head, *reversed(rows)]) + "\n")
    assert published(bench).name == first.name


def test_more_rows_are_a_new_release_with_the_same_reports_for_the_old(bench, table_text):
    published(bench)
    bench.write(table=table_text(70))
    published(bench)
    old, new = (reports_of(release) for release in bench.miner.sealed())
    assert len(new) == 70
    assert {key: new[key] for key in old} == old
    # The same draws left again: nothing was added to the loss.
    first, second = Ledger(bench.state).entries()
    assert first.draws == second.draws


def test_a_wrong_token_is_refused_and_the_outbox_kept(bench):
    token = bench.state / "tokens" / "asia.token"
    token.write_text("another\n")
    with pytest.raises(Refused, match="401 unauthenticated") as raised:
        published(bench)
    assert (raised.value.status, raised.value.exit_code) == (401, 4)
    assert "owner-agent join" in str(raised.value)
    assert "another" not in str(raised.value)
    assert [state for _, state in _states(bench)] == ["prepared"]
    assert bench.miner.releases == {}


def test_without_a_token_nothing_is_made(bench):
    (bench.state / "tokens" / "asia.token").unlink()
    with pytest.raises(Unauthenticated, match=r"has not joined study 'asia'.*owner-agent join"):
        published(bench)
    assert not (bench.state / "outbox").exists()


@pytest.mark.parametrize("name", ["draw", "linkage"])
def test_without_a_secret_nothing_is_made(bench, name):
    (bench.state / "keys" / f"{name}.key").unlink()
    with pytest.raises(KeyFileError, match="owner-agent keys"):
        published(bench)
    assert not (bench.state / "outbox").exists()
    assert bench.miner.requests == []


def test_no_plan_of_a_site_leaves_a_sensitive_column_as_it_is(bench):
    """Nor one that was changed after it was read: what publishes takes no other."""
    good = planned(bench.site)
    blocks = tuple(Block(b.variables, Identity(b.channel.shape[0])) for b in good.plan.blocks)
    with pytest.raises(UnprotectedVariable, match="'smoker' is sensitive but would leave"):
        replace(good, plan=Plan(blocks))


def test_the_disk_has_the_release_before_its_name(bench, monkeypatch):
    """A power cut must not leave a named folder with unwritten files."""
    order = []
    rename, sync = Path.rename, private_files.sync_directory

    def note_rename(self, target):
        order.append(f"rename {target.name[:2]}")
        return rename(self, target)

    def note_sync(path):
        order.append(f"sync {path.name[:4]}")
        sync(path)

    monkeypatch.setattr(Path, "rename", note_rename)
    monkeypatch.setattr("owner_agent.release.outbox.sync_directory", note_sync)
    published(bench)
    assert order[:3] == ["sync .unf", "rename r-", "sync outb"]


CHANGED = ("p1 = 0.1, p2 = 0.25", "p1 = 0.2, p2 = 0.25")


def test_another_channel_for_what_already_left_is_refused(bench, site_text):
    published(bench)
    before = bench.files()
    bench.write(site_text.replace(*CHANGED))
    with pytest.raises(PlanConflict) as raised:
        published(bench)
    text = str(raised.value)
    # The worst ratio within a column of the matrix: ln(0.75/0.1), then ln(0.75/0.2) more.
    before_it, after_it = math.log(7.5), math.log(7.5) + math.log(3.75)
    assert f"column 'smokes': epsilon {before_it:.4g} would become {after_it:.4g}" in text
    assert "--accept-added-loss" in text
    assert "age" not in text
    assert bench.files() == before
    assert len(bench.miner.releases) == 1


def test_an_added_loss_can_be_accepted_and_is_added_up(bench, site_text):
    published(bench)
    bench.write(site_text.replace(*CHANGED))
    published(bench, accept_added_loss=True)
    assert len(bench.miner.sealed()) == 2
    spent_so_far = spent(Ledger(bench.state).entries())
    assert spent_so_far["smokes"] == pytest.approx(math.log(7.5) + math.log(3.75))
    assert spent_so_far["age"] == pytest.approx(math.log(0.6 / 0.1))
    assert spent_so_far["region"] == math.inf
    # Both have left now: either may leave again, a third may not.
    assert published(bench).already
    bench.write(site_text.replace("p1 = 0.1, p2 = 0.25", "p1 = 0.3, p2 = 0.25"))
    with pytest.raises(PlanConflict, match=f"epsilon {spent_so_far['smokes']:.4g} would become"):
        published(bench)


def test_a_renamed_variable_of_the_same_column_is_the_same_secret(bench, site_text):
    published(bench)
    bench.write(site_text.replace('name = "smoker"', 'name = "tobacco"'))
    with pytest.raises(PlanConflict, match="column 'smokes'"):
        published(bench)


UNDER_OTHER_NAMES = (
    ('name = "smoker"', 'name = "habit"'),
    ('column = "smokes"', 'column = "tobacco"'),
    ('categories = ["no", "yes"]', 'categories = ["Y", "N"]'),
    CHANGED,
)


def test_the_ledger_holds_no_value_of_a_column(bench, table_text):
    published(bench)
    content = (bench.state / "ledger.sqlite").read_bytes()
    for line in table_text(50).splitlines()[1:]:
        assert line.split(",")[0].encode() not in content


def test_a_copy_of_a_column_is_not_refused_at_first_and_its_losses_add(bench, site_text):
    """Two columns of one table that are one secret."""
    lines = (bench.folder / "patients.csv").read_text().splitlines()
    head, rows = lines[0] + ",copy", [f"{line},{line.split(',')[1]}" for line in lines[1:]]
    copy = (
        '[[variables]]\nname = "copy"\ncategories = ["no", "yes"]\nsensitive = true\n'
        'channel = { kind = "binary", p1 = 0.2, p2 = 0.25 }\n'
    )
    both = "\n".join([head, *rows]) + "\n"
    bench.write(site_text + copy, table=both)
    published(bench)
    together = pytest.approx(math.log(7.5) + math.log(3.75))
    spent_so_far = spent(Ledger(bench.state).entries())
    assert (spent_so_far["smokes"], spent_so_far["copy"]) == (together, together)
    assert published(bench).already


def test_a_copy_that_comes_later_is_refused(bench, site_text):
    published(bench)
    lines = (bench.folder / "patients.csv").read_text().splitlines()
    head, rows = lines[0] + ",copy", [f"{line},{line.split(',')[1]}" for line in lines[1:]]
    public = (
        '[[variables]]\nname = "copy"\ncategories = ["no", "yes"]\nsensitive = false\n'
        'reveals = ["smoker"]\n'
    )
    bench.write(site_text + public, table="\n".join([head, *rows]) + "\n")
    with pytest.raises(PlanConflict, match="'copy' has the values of column 'smokes' .* inf"):
        published(bench)


@pytest.mark.slow
def test_a_plan_that_never_left_can_be_replaced(bench, site_text):
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable):
        published(bench)
    ((old, _),) = _states(bench)
    bench.write(site_text.replace(*CHANGED))
    new = published(bench)
    assert _states(bench) == [(old, "discarded"), (new.name, "sealed")]
    assert not (bench.state / "outbox" / old).exists()


def test_a_withdrawn_release_stays_withdrawn_and_on_record(bench):
    name = published(bench).name
    withdraw(bench.site, name, bench.environment)
    assert bench.miner.sealed() == []
    assert _states(bench) == [(name, "withdrawn")]
    lines = list(bench.miner.lines)
    with pytest.raises(ReleaseNotOpen) as raised:
        published(bench)
    assert f"Release {name}, which holds exactly these records, was withdrawn on 2031-05-06" in (
        raised.value.message
    )
    assert "cannot be published again under that name" in raised.value.message
    assert "more or fewer records makes a new release" in raised.value.remedy
    assert bench.miner.lines == lines


@pytest.mark.parametrize("sealed", [True, False])
def test_a_release_that_was_withdrawn_at_the_miner(bench, sealed):
    bench.miner.faults = [] if sealed else [*[None] * 4, ("before", httpx.ConnectError("down"))]
    if sealed:
        published(bench)
    else:
        with pytest.raises(Unreachable):
            published(bench)
    (release,) = bench.miner.releases.values()
    release["state"] = "withdrawn"
    with pytest.raises(ReleaseNotOpen, match="was withdrawn at the miner; the same content"):
        published(bench)
    assert [state for _, state in _states(bench)] == ["withdrawn"]


def _renamed(text, prefix):
    return text.replace("PATIENT", prefix)


def test_the_same_table_under_other_record_ids_is_refused(bench, table_text):
    published(bench)
    before = bench.files()
    bench.write(table=_renamed(table_text(50), "PERSON"))
    with pytest.raises(PlanConflict, match="under other record ids, or other people") as raised:
        published(bench)
    assert raised.value.where == "smokes, age"
    once, twice = math.log(7.5), 2 * math.log(7.5)
    assert f"'smokes': epsilon {once:.4g} would become {twice:.4g}" in raised.value.message
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
    with pytest.raises(PlanConflict, match="or other people"):
        published(bench)
    assert spent(Ledger(bench.state).entries())["smokes"] == once


def _half_renamed(text, prefix):
    lines = text.splitlines(keepends=True)
    half = len(lines) // 2
    return "".join(lines[:half]) + _renamed("".join(lines[half:]), prefix)


def test_ids_that_change_by_halves_are_seen(bench, table_text):
    published(bench)
    bench.write(table=_half_renamed(table_text(50), "PERSON"))
    with pytest.raises(PlanConflict, match="under other record ids"):
        published(bench)


def test_a_small_pilot_does_not_hide_other_record_ids(bench, table_text):
    bench.write(table=table_text(2))
    published(bench)
    bench.write(table=table_text(50))
    published(bench, accept_new_people=True)
    lines = table_text(50).splitlines(keepends=True)
    bench.write(table="".join(lines[:3]) + _renamed("".join(lines[3:]), "PERSON"))
    with pytest.raises(PlanConflict, match="under other record ids"):
        published(bench)


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
    with pytest.raises(PlanConflict, match="under other record ids"):
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


def test_a_release_put_off_for_another_adds_no_loss_when_it_comes(bench, table_text):
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable):
        published(bench)
    bench.write(table=table_text(60))
    published(bench)
    bench.write(table=table_text(50))
    published(bench)
    assert [state for _, state in _states(bench)] == ["sealed", "sealed"]
    assert spent(Ledger(bench.state).entries())["smokes"] == pytest.approx(math.log(7.5))


def test_without_the_ledger_nothing_is_published(bench):
    published(bench)
    (bench.state / "ledger.sqlite").unlink()
    before, lines = bench.files(), list(bench.miner.lines)
    with pytest.raises(
        HistoryLost,
        match="no ledger at .* but keys, tokens, audit.jsonl, outbox, reported.*Restore",
    ):
        published(bench)
    assert bench.files() == before
    assert bench.miner.lines == lines


def test_killed_between_outbox_and_ledger(bench, monkeypatch, killed):
    def die(*_):
        raise killed

    monkeypatch.setattr(Ledger, "add", die)
    with pytest.raises(killed):
        published(bench)
    monkeypatch.undo()
    published(bench)
    assert [state for _, state in _states(bench)] == ["sealed"]


def test_only_what_left_can_be_withdrawn(bench):
    with pytest.raises(NotFound, match=r"No release 'r-0'.*owner-agent ledger"):
        withdraw(bench.site, "r-0", bench.environment)
    bench.miner.faults = [("before", httpx.ConnectError("down"))]
    with pytest.raises(Unreachable):
        published(bench)
    with pytest.raises(NotReady, match="never confirmed"):
        withdraw(bench.site, _states(bench)[0][0], bench.environment)


@pytest.mark.parametrize("name", ["part-00001.arrow", MANIFEST])
def test_a_damaged_outbox_is_not_sent(bench, killed, name):
    bench.miner.faults = [None, None, ("before", killed())]
    with pytest.raises(killed):
        published(bench)
    path = bench.state / "outbox" / _states(bench)[0][0] / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreCorrupt, match=f"{name} is not what was written.*Remove the folder"):
        published(bench)
    assert bench.miner.sealed() == []


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
    with pytest.raises(StoreCorrupt, match=f"{MANIFEST} is not what was written"):
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


def test_an_interrupted_write_leaves_nothing_behind(bench, monkeypatch, killed):
    def die(*_):
        raise killed

    monkeypatch.setattr("owner_agent.release.outbox.sync_directory", die)
    with pytest.raises(killed):
        published(bench)
    monkeypatch.undo()
    assert _states(bench) == []
    published(bench)
    assert [p.name for p in (bench.state / "outbox").iterdir()] == [_states(bench)[0][0]]


def test_a_miner_that_has_another_release_under_the_name(bench):
    class Liar(type(bench.miner)):
        def _describe(self, identity):
            return {**super()._describe(identity), "digest": "0" * 64}

    bench.miner = Liar()
    with pytest.raises(TransportError, match="with digest 000000000000"):
        published(bench)
    assert [line.split()[0] for line in bench.miner.lines] == ["GET", "GET", "POST", "POST"]


def test_two_publications_at_once(bench):
    with publishing_alone(bench.state), pytest.raises(Conflict, match="Another publication"):
        published(bench)
    assert bench.miner.requests == []
    published(bench)


@pytest.mark.parametrize(
    ("per_part", "rows", "error", "says"),
    [(0, 50, OptionError, "at least 1, not 0"), (1, 10_001, LimitExceeded, "10001 parts")],
)
def test_impossible_parts(bench, table_text, per_part, rows, error, says):
    bench.write(table=table_text(rows))
    with pytest.raises(error, match=says):
        published(bench, part_records=per_part)
    assert bench.miner.requests == []


def test_progress_is_told_part_by_part(bench):
    seen = []
    published(bench, watch=lambda *step: seen.append(step))
    size = (bench.folder / "patients.csv").stat().st_size
    made = [("randomizing", size, size), ("sorting", 50, 50)]
    assert seen == [*made, *(("parts", n, 3) for n in range(4))]

"""Whatever part of the state directory is lost or older: no corrected record is found out by it."""

import itertools
import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from owner_agent.release.client import Miner
from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.state.ledger_file import TRACES
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import (
    HistoryLost,
    KeyFileError,
    PlanConflict,
    RecordsCorrected,
    StoreCorrupt,
    Unauthenticated,
)
from tests.owner_agent.release.publishing import differences, drawn_anew

EPSILON = 2.0149  # ln 7.5 of the binary channel
PARTS = {
    "draw key": "keys/draw.key",
    "linkage secret": "keys/linkage.key",
    "token": "tokens",
    "ledger": "ledger.sqlite",
    "memory": "reported",
    "outbox": "outbox",
    "audit log": "audit.jsonl",
}
SUBSETS = [frozenset(lost) for size in range(8) for lost in itertools.combinations(PARTS, size)]
FURTHER = {name: name for name in TRACES if name not in {p.split("/")[0] for p in PARTS.values()}}
"""What else is there only if something was done; each, each two and all of them are lost."""
SUBSETS += [frozenset(c) for n in (1, 2, len(FURTHER)) for c in itertools.combinations(FURTHER, n)]


def _publish(bench, **options):
    return publish(PreparedRecords, bench.site, bench.environment, PublishOptions(**options))


def _remove(path):
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _answer(lost, *, corrected):
    """Return what publishing answers by the table of the owner's guide: an error, or None."""
    if "token" in lost:
        return Unauthenticated
    if lost & {"draw key", "linkage secret"}:
        return KeyFileError
    if "ledger" in lost:
        return HistoryLost
    if "memory" in lost:
        return StoreCorrupt
    return RecordsCorrected if corrected else None


def _restored(bench, lost=(), copy="backup"):
    shutil.rmtree(bench.state)
    shutil.copytree(bench.folder / copy, bench.state)
    for part in lost:
        _remove(bench.state / {**PARTS, **FURTHER}[part])


@pytest.mark.slow
@pytest.mark.parametrize("corrected", [False, True])
def test_each_subset_of_the_state_has_its_answer(left, table_text, corrected):
    if not corrected:
        left.write(table=table_text(50))
    (name,) = (release["manifest"].name for release in left.miner.sealed())
    for lost in SUBSETS:
        _restored(left, lost)
        expected = _answer(lost, corrected=corrected)
        if expected is None:
            again = _publish(left)
            assert (again.already, again.name) == (True, name), lost
        else:
            with pytest.raises(expected) as refused:
                _publish(left)
            assert type(refused.value) is expected, lost
            assert refused.value.remedy, lost
        assert len(left.miner.releases) == 1, lost


def test_a_new_epoch_counts_what_the_miner_has_and_draws_anew(left, table_text):
    (first,) = left.miner.sealed()
    _restored(left, set(PARTS) - {"draw key", "linkage secret", "token"})
    begun = begin_new_epoch(left.site, left.environment)
    assert [entry.name for entry in begun.counted] == [first["manifest"].name]
    assert begun.losses["smokes"] == pytest.approx(EPSILON, abs=1e-4)
    with pytest.raises(PlanConflict):
        _publish(left)
    second = _publish(left, accept_added_loss=True)
    assert not second.already
    assert spent(Ledger(left.state).entries())["smokes"] == pytest.approx(2 * EPSILON, abs=1e-4)
    old, new = (release["manifest"].draws for release in left.miner.sealed())
    assert [a == b for a, b in zip(old, new, strict=True)] == [False, False, True]
    again = _publish(left)
    assert (again.already, again.name) == (True, second.name)
    # Corrections from now on are found as ever, and more records repeat their draws.
    left.write(table=table_text(60).replace(",yes,", ",no,"))
    assert not _publish(left).already
    left.write(table=table_text(60).replace(",no,", ",yes,"))
    with pytest.raises(RecordsCorrected):
        _publish(left)
    drawn_anew(left, seconds=1)
    assert differences(left.miner.releases.values()) == 0


TOKEN = "token-of-clinic-north-0123456789"


def _new_epoch(bench, seconds=0):
    now = bench.environment.now() + timedelta(seconds=seconds)
    return begin_new_epoch(bench.site, replace(bench.environment, now=lambda: now), anyway=True)


@pytest.mark.parametrize("epochs", [0, 1])
def test_keys_that_are_copied_after_joining_publish_nothing(left, epochs):
    shutil.rmtree(left.state)
    TokenStore(left.state).save("asia", TOKEN)
    shutil.copytree(left.folder / "backup" / "keys", left.state / "keys")
    left.miner.releases = {}  # Another miner, or another name at this one.
    with pytest.raises(HistoryLost) as refused:
        _publish(left, accept_added_loss=True)
    assert "backup" in refused.value.remedy
    assert "new-epoch" in refused.value.remedy
    assert not left.miner.releases
    for _ in range(epochs):
        _new_epoch(left)
        _publish(left)
        (entry,) = Ledger(left.state).entries()
        assert entry.beginning == Ledger(left.state).beginning > 1 << 32


def test_keyed_draws_are_told_alike_without_a_ledger_though_records_came_and_went(left, table_text):
    """The miner compares by them what an agent without memory would report differently."""
    (first,) = [release["manifest"] for release in left.miner.sealed()]
    left.miner.releases = {}
    shutil.rmtree(left.state)
    left.join()
    head, *rows = table_text(60).splitlines()
    left.write(table="\n".join([head, *rows[5:]]) + "\n")
    _publish(left)
    (second,) = [release["manifest"] for release in left.miner.sealed()]
    *drawn, openly = zip(first.draws, second.draws, strict=True)
    assert [before == after for before, after in [*drawn, openly]] == [False, False, True]
    assert first.keyed_draws == second.keyed_draws
    assert not {*first.draws} & {*first.keyed_draws}
    # In another epoch nothing can be compared.
    _new_epoch(left)
    _publish(left, accept_added_loss=True)
    third = left.miner.sealed()[-1]["manifest"]
    both = zip(first.keyed_draws, third.keyed_draws, strict=True)
    assert [before == after for before, after in both] == [False, False, True]


def test_a_loss_of_a_variable_that_was_renamed_counts_on_every_column(left, site_text):
    """Of `smoker` the miner has a release; the site file has `is_smoker` of the same column now."""
    (left.state / "ledger.sqlite").unlink()
    left.write(site_text.replace('name = "smoker"', 'name = "is_smoker"'))
    assert not _new_epoch(left).losses.keys() & {"smokes", "smoker"}
    with pytest.raises(PlanConflict) as refused:
        _publish(left)
    assert "'smokes': epsilon 2.015 would become 4.03" in str(refused.value)
    _publish(left, accept_added_loss=True)
    losses = spent(Ledger(left.state).entries())
    assert losses["smokes"] == pytest.approx(2 * 2.0149, abs=1e-4)
    assert losses["age"] > losses["smokes"] / 2
    assert _publish(left).already


def test_a_new_epoch_of_a_folder_that_lacks_nothing_is_refused_unless_it_is_wanted(left, command):
    ended = command("new-epoch")
    assert ended.exit_code == 2
    assert "option-invalid" in ended.err
    assert "--yes" in ended.err
    assert Ledger(left.state).beginning == 0
    assert command("new-epoch", "--yes").exit_code == 0
    assert Ledger(left.state).beginning > 0


def test_a_miner_hears_of_the_releases_to_its_study_alone(left, table_text, monkeypatch):
    ledger, sent = Ledger(left.state), []
    (known,) = ledger.entries()
    ledger.put(replace(known, study="elsewhere", content="0" * 64, digest="f" * 64, draws=()))
    create = Miner.create_release

    def noted(self, study, manifest):
        sent.append(manifest.builds_on)
        return create(self, study, manifest)

    monkeypatch.setattr(Miner, "create_release", noted)
    left.write(table=table_text(60))
    _publish(left, accept_added_loss=True, accept_new_people=True, corrections="keep")
    (named,) = sent
    assert known.digest in named
    assert "f" * 64 not in named

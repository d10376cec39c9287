"""Whatever part of the state directory is lost or older: no corrected record is found out by it."""

import itertools
import shutil

import pytest

from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from owner_agent.state.ledger_file import TRACES
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

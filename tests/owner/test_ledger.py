"""The ledger adds what distinct draws cost, and keeps everything it was told."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.exc import IntegrityError

from owner_agent.ledger import Draw, Entry, Ledger, conflicting, losses, spent
from shared.errors import StoreCorrupt

MOMENT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def _draw(column="a", draw_id="1", epsilon=1.5, randomized=True):
    return Draw(column, column.upper(), draw_id, epsilon, randomized)


def _entry(name="r-1", state="sealed", draws=None):
    return Entry(
        "http://m",
        "asia",
        name,
        "c" * 64,
        "d" * 64,
        "p" * 64,
        7,
        1,
        state,
        MOMENT,
        MOMENT,
        None,
        tuple(draws or [_draw()]),
    )


def test_what_is_written_is_read_again(tmp_path):
    ledger = Ledger(tmp_path / "state")
    assert ledger.entries() == ()
    assert not (tmp_path / "state").exists()
    entry = _entry(draws=[_draw(), _draw("b", "2", math.inf, randomized=False)])
    ledger.add(entry)
    assert Ledger(tmp_path / "state").entries() == (entry,)
    later = MOMENT.astimezone(timezone(timedelta(hours=5))) + timedelta(hours=1)
    ledger.mark(entry, "withdrawn", later, "id-7")
    changed = replace(entry, state="withdrawn", changed=later, release_id="id-7")
    assert ledger.find("http://m", "asia", "r-1") == changed
    assert ledger.find("http://else", "asia", "r-1") is None
    assert (tmp_path / "state" / "ledger.sqlite").stat().st_mode & 0o777 == 0o600


def test_an_entry_is_written_once(tmp_path):
    ledger = Ledger(tmp_path)
    tmp_path.chmod(0o700)
    ledger.add(_entry())
    with pytest.raises(IntegrityError):
        ledger.add(_entry())
    assert len(ledger.entries()) == 1


def test_a_ledger_that_is_none(tmp_path):
    path = tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"not a database, certainly not " * 10)
    with pytest.raises(StoreCorrupt, match=r"ledger\.sqlite cannot be read.*Restore it"):
        Ledger(path.parent).entries()


def test_a_content_is_found_under_its_newest_name(tmp_path):
    ledger = Ledger(tmp_path / "state")
    for name, state in [("r-1", "sealed"), ("r-2", "sending"), ("r-3", "discarded")]:
        ledger.add(_entry(name, state))
    assert ledger.find_content("http://m", "asia", "c" * 64).name == "r-2"
    assert ledger.find_content("http://m", "asia", "e" * 64) is None
    assert ledger.find_content("http://m", "europe", "c" * 64) is None


def test_losses_add_over_distinct_draws():
    draws = [_draw(), _draw(), _draw(draw_id="2", epsilon=0.5), _draw("b", "3", math.inf)]
    assert losses(draws) == {"a": 2.0, "b": math.inf}


@pytest.mark.parametrize(
    ("state", "counts"),
    [("prepared", False), ("discarded", False), ("sending", True), ("sealed", True),
     ("withdrawn", True)],
)  # fmt: skip
def test_what_may_have_left_counts(state, counts):
    assert spent([_entry(state=state)]) == ({"a": 1.5} if counts else {})
    assert bool(conflicting([_draw(draw_id="2")], [_entry(state=state)])) is counts


def test_only_a_new_randomization_conflicts():
    left = [_entry(), _entry("r-2", draws=[_draw("c", "5", math.inf, randomized=False)])]
    assert conflicting([_draw()], left) == ()
    assert conflicting([_draw("b", "9")], left) == ()
    assert conflicting([_draw("c", "6", math.inf, randomized=False)], left) == ()
    assert conflicting([_draw(draw_id="2")], left) == (_draw(draw_id="2"),)
    assert conflicting([_draw("c", "7")], left) == (_draw("c", "7"),)
    unprotected = _draw("a", "8", math.inf, randomized=False)
    assert conflicting([unprotected], left) == (unprotected,)

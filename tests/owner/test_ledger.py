"""The ledger adds what distinct draws cost, and keeps everything it was told."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.exc import IntegrityError

from owner_agent.composition import conflicting, losses, refuse_conflicts, spent
from owner_agent.ledger import Draw, Entry, Ledger
from shared.errors import PlanConflict, StoreCorrupt

MOMENT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def _draw(column="a", draw_id="1", epsilon=1.5, randomized=True, variable=None, population=""):
    return Draw(column, variable or column.upper(), draw_id, epsilon, randomized, population)


def _entry(name="r-1", state="sealed", draws=None, sketch=b""):
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
        sketch,
    )


def test_what_is_written_is_read_again(tmp_path):
    ledger = Ledger(tmp_path / "state")
    assert ledger.entries() == ()
    assert not (tmp_path / "state").exists()
    draws = [_draw(population="p"), _draw("b", "2", math.inf, randomized=False)]
    entry = _entry(draws=draws, sketch=bytes(range(32)))
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


def test_what_shares_a_column_or_a_variable_is_one_secret():
    """Renamed by turns, the same values could leave again and again at no visible loss."""
    left = [
        _entry("r-1", draws=[_draw("smokes", "1", 1.0, variable="smoker")]),
        _entry("r-2", draws=[_draw("tobacco", "2", 2.0, variable="smoker")]),
        _entry("r-3", draws=[_draw("tobacco", "3", 4.0, variable="habit"), _draw("b", "4", 0.5)]),
    ]
    assert spent(left) == {"smokes": 7.0, "tobacco": 7.0, "b": 0.5}
    by_variable = _draw("cigarettes", "5", 8.0, variable="habit")
    assert conflicting([by_variable], left) == (by_variable,)
    with pytest.raises(PlanConflict, match="'cigarettes': epsilon 7 would become 15"):
        refuse_conflicts([by_variable], left)
    # What joins them may be the planned release alone.
    apart = [left[0], _entry("r-4", draws=[_draw("tobacco", "2", 2.0, variable="pipe")])]
    assert spent(apart) == {"smokes": 1.0, "tobacco": 2.0}
    joining = _draw("tobacco", "1", 1.0, variable="smoker")
    assert losses([d for e in apart for d in e.draws], beside=[joining])["smokes"] == 3.0
    # The same draws under another name reveal nothing new.
    assert conflicting([_draw("tobacco", "1", 1.0, variable="smoker")], left) == ()


def test_the_same_draws_for_other_records_add_up():
    left = [_entry(draws=[_draw(population="p")])]
    other = _draw(population="q")
    assert conflicting([other], left) == (other,)
    assert conflicting([_draw(population="p")], left) == ()
    with pytest.raises(PlanConflict, match="the same table under other record ids") as raised:
        refuse_conflicts([other], left)
    assert "'a': epsilon 1.5 would become 3" in raised.value.message
    assert spent([*left, _entry("r-2", draws=[other])]) == {"a": 3.0}


def test_a_ledger_lost_beside_its_outbox_is_not_begun_anew(tmp_path):
    ledger = Ledger(tmp_path / "state")
    ledger.add(_entry())
    (tmp_path / "state" / "outbox" / "r-1").mkdir(parents=True)
    (tmp_path / "state" / "outbox" / ".unfinished-1").mkdir()
    path = tmp_path / "state" / "ledger.sqlite"
    for lose in (path.unlink, path.touch):
        lose()
        for use in (ledger.entries, ledger.begin, lambda: ledger.add(_entry())):
            with pytest.raises(StoreCorrupt, match="the outbox holds 1 releases") as raised:
                use()
            assert "Restore it from your backup" in raised.value.remedy
            assert "truly nothing ever left" in raised.value.remedy
    assert path.read_bytes() == b""
    (tmp_path / "state" / "outbox" / "r-1").rmdir()
    assert ledger.entries() == ()


def test_an_entry_that_never_left_is_prepared_again_for_its_population_of_now(tmp_path):
    ledger = Ledger(tmp_path / "state")
    public = _draw("b", "2", math.inf, randomized=False)
    entry = _entry(state="discarded", draws=[_draw(population="p"), public], sketch=b"s" * 16)
    ledger.add(entry)
    renewed = ledger.renew(entry, (_draw(population="q"), public), MOMENT)
    assert ledger.entries() == (renewed,)
    assert (renewed.state, renewed.draws) == ("prepared", (_draw(population="q"), public))


def test_a_ledger_of_another_version_is_left_alone(tmp_path):
    ledger = Ledger(tmp_path / "state")
    ledger.add(_entry())
    with closing(sqlite3.connect(tmp_path / "state" / "ledger.sqlite")) as connection:
        connection.execute("PRAGMA user_version=7")
    with pytest.raises(StoreCorrupt, match="has schema 7; .* reads schema 1"):
        ledger.entries()
    with closing(sqlite3.connect(tmp_path / "state" / "ledger.sqlite")) as connection:
        connection.execute("PRAGMA user_version=1")
    assert ledger.entries() == (_entry(),)

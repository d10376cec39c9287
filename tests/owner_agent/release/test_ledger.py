"""The ledger adds what distinct draws cost, and keeps everything it was told."""

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from owner_agent.release.composition import (
    Unbounded,
    conflicting,
    losses,
    refuse_conflicts,
    renamed,
    spent,
)
from owner_agent.release.ledger import Draw, Entry, Form, Ledger
from pramana_core.errors import HistoryLost, PlanConflict, StoreCorrupt

MOMENT = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def _draw(
    column="a", draw_id="1", epsilon=1.5, randomized=True, variable=None, population="", same_as=()
):
    variable = variable or column.upper()
    form = Form.RANDOMIZED if randomized else Form.OPEN
    return Draw(column, variable, draw_id, epsilon, form, population, same_as)


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
    public = _draw("b", "2", math.inf, randomized=False, same_as=("a", "c"))
    draws = [_draw(population="p"), public]
    entry = _entry(draws=draws, sketch=bytes(range(32)))
    ledger.put(entry)
    assert Ledger(tmp_path / "state").entries() == (entry,)
    later = MOMENT.astimezone(timezone(timedelta(hours=5))) + timedelta(hours=1)
    ledger.mark(entry, "withdrawn", later, "id-7")
    changed = replace(entry, state="withdrawn", changed=later, release_id="id-7")
    assert ledger.find("http://m", "asia", "r-1") == changed
    assert ledger.find("http://else", "asia", "r-1") is None
    assert (tmp_path / "state" / "ledger.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_is_none(tmp_path):
    path = tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"not a database, certainly not " * 10)
    with pytest.raises(StoreCorrupt):
        Ledger(path.parent).entries()


def test_a_content_is_found_under_its_newest_name(tmp_path):
    ledger = Ledger(tmp_path / "state")
    for name, state in [("r-1", "sealed"), ("r-2", "sending"), ("r-3", "discarded")]:
        ledger.put(_entry(name, state))
    assert ledger.find_content("http://m", "asia", "c" * 64).name == "r-2"
    assert ledger.find_content("http://m", "asia", "e" * 64) is None
    assert ledger.find_content("http://m", "europe", "c" * 64) is None


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
    with pytest.raises(PlanConflict):
        refuse_conflicts([by_variable], left)
    # What joins them may be the planned release alone.
    apart = [left[0], _entry("r-4", draws=[_draw("tobacco", "2", 2.0, variable="pipe")])]
    assert spent(apart) == {"smokes": 1.0, "tobacco": 2.0}
    joining = _draw("tobacco", "1", 1.0, variable="smoker")
    assert losses([d for e in apart for d in e.draws], beside=[joining])["smokes"] == 3.0
    # The same draws under another name reveal nothing new.
    assert conflicting([_draw("tobacco", "1", 1.0, variable="smoker")], left) == ()


def test_columns_of_the_same_values_are_one_secret():
    left = [_entry(draws=[_draw("smokes", "1", 1.0)])]
    other = _draw("tobacco", "2", 2.0, same_as=("smokes",))
    assert conflicting([other], left) == (other,)
    assert conflicting([replace(other, same_as=())], left) == ()
    with pytest.raises(PlanConflict) as raised:
        refuse_conflicts([other], left)
    assert "epsilon 1 would become 3" in raised.value.message
    both = [*left, _entry("r-2", draws=[other])]
    assert spent(both) == {"smokes": 3.0, "tobacco": 3.0}
    assert renamed(both) == {"tobacco": ("smokes",)}
    # What is in the ledger needs no second look: the name alone is enough from now on.
    third = _draw("tobacco", "3", 4.0)
    with pytest.raises(PlanConflict):
        refuse_conflicts([third], both)


def test_copies_that_leave_together_first_are_not_refused_and_add_up():
    copies = [_draw("a", "1", 1.0, same_as=("b",)), _draw("b", "2", 2.0, same_as=("a",))]
    assert conflicting(copies, []) == ()
    left = [_entry(draws=copies)]
    assert spent(left) == {"a": 3.0, "b": 3.0}
    assert conflicting(copies, left) == ()
    # The one that comes later tells more of what the other told before.
    assert conflicting(copies, [_entry(draws=copies[:1])]) == (copies[1],)


def test_a_ledger_lost_beside_its_outbox_is_not_begun_anew(tmp_path):
    ledger = Ledger(tmp_path / "state")
    ledger.put(_entry())
    (tmp_path / "state" / "outbox" / "r-1").mkdir(parents=True)
    (tmp_path / "state" / "outbox" / ".unfinished-1").mkdir()
    path = tmp_path / "state" / "ledger.sqlite"
    for lose in (path.unlink, path.touch):
        lose()
        for use in (ledger.entries, ledger.begin, lambda: ledger.put(_entry())):
            with pytest.raises(HistoryLost) as raised:
                use()
            assert "Restore the state directory from your backup" in raised.value.remedy
            assert "owner-agent new-epoch" in raised.value.remedy
    assert path.read_bytes() == b""


@pytest.mark.parametrize("version", [0, 5, 8])
def test_a_ledger_of_another_version_is_refused_and_left_as_it_is(tmp_path, version):
    ledger = Ledger(tmp_path / "state")
    ledger.put(_entry())
    path = tmp_path / "state" / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
        before = [*connection.iterdump()]
    with pytest.raises(StoreCorrupt) as refused:
        ledger.entries()
    assert "Run the version of the agent" in refused.value.remedy
    with closing(sqlite3.connect(path)) as connection:
        assert [*connection.iterdump()] == before
        connection.execute("PRAGMA user_version=7")
    assert ledger.entries() == (_entry(),)


def _tree(epsilon, draw_id, *columns, **more):
    return [replace(_draw(c, draw_id, epsilon, **more), form=Form.TREE) for c in columns]


def test_a_private_tree_counts_once_for_each_column_and_adds_to_randomizations():
    """By hand: a is in a tree of 1.5 and randomized at 0.5; b is in that tree and one of 0.25."""
    draws = [*_tree(1.5, "t1", "a", "b"), *_tree(0.25, "t2", "b", "c"), _draw("a", "1", 0.5)]
    assert losses(draws) == {"a": 2.0, "b": 1.75, "c": 0.25}
    # The same tree sent again costs nothing.
    assert losses([*draws, *_tree(1.5, "t1", "a", "b")]) == losses(draws)
    # Where b is a under another name, the first tree counts once for both, and all the rest adds.
    joined = [*draws, *_tree(0.25, "t2", "b", same_as=("a",))]
    assert losses(joined) == {"a": 2.25, "b": 2.25, "c": 0.25}
    assert Unbounded.of(draws).shared == frozenset()
    assert conflicting(_tree(1.5, "t1", "a"), [_entry(draws=draws)]) == ()
    (again,) = conflicting(_tree(1.5, "t3", "c"), [_entry(draws=draws)])
    assert again.column == "c"


def _masked_draw(column="x", draw_id="m", **more):
    return replace(_draw(column, draw_id, math.inf, **more), form=Form.MASKED)


def _masked_entry(name="r-1", draws=None, **more):
    told = _draw("s", "public", math.inf, randomized=False)
    made = _entry(name, draws=draws or [told, _masked_draw()])
    return replace(made, kind="masked-records", method="egadp", **more)


def test_a_masked_column_has_no_bound_and_is_in_no_sum(tmp_path):
    ledger = Ledger(tmp_path / "state")
    entry = _masked_entry()
    ledger.put(entry)
    assert ledger.entries() == (entry,)
    assert not entry.follows_plan
    randomized = _entry("r-2", draws=[_draw("x", "1", 0.5), _draw("y", "2", 0.25)])
    composed = spent([entry, randomized])
    assert composed == {"s": math.inf, "x": math.inf, "y": 0.25}
    draws = [draw for one in (entry, randomized) for draw in one.draws]
    assert Unbounded.of(draws).masked == {"x"}
    # What shares a name with a masked column, or had its values, is the same secret.
    renamed_copy = _draw("z", "3", 0.5, same_as=("x",))
    assert Unbounded.of([*draws, renamed_copy]).masked == {"x", "z"}
    assert Unbounded.of(entry.draws, beside=[renamed_copy]).masked == {"x", "z"}
    assert Unbounded.of(randomized.draws).masked == frozenset()


RANDOMIZED = _draw("x", "1", 2.0)
PLAIN = _draw("x", "0", math.inf, randomized=False)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (_masked_draw(draw_id="a"), _masked_draw(draw_id="b")),
        (RANDOMIZED, _masked_draw()),
        (PLAIN, _masked_draw()),
        (_masked_draw(), RANDOMIZED),
        (_masked_draw(), PLAIN),
        (_masked_draw("old", variable="OLD"), _masked_draw("x", "b", same_as=("old",))),
    ],
)
def test_a_column_that_was_masked_leaves_in_no_other_form(before, now):
    entry = _entry(draws=[before])
    with pytest.raises(PlanConflict) as raised:
        refuse_conflicts([now], [entry])
    assert raised.value.where == "x"
    refuse_conflicts([now], [replace(entry, state="discarded")])
    refuse_conflicts([before], [entry])


def test_a_ledger_begins_anew_beside_what_it_has(tmp_path):
    ledger = Ledger(tmp_path / "state")
    old = _entry(draws=[_draw(population="p", same_as=("b",))], sketch=b"\x01\x02")
    ledger.put(old)
    assert ledger.beginning == 0
    epoch = (1 << 63) - 1
    found = replace(_entry("r-0", draws=[_draw("c", "lost 7")]), prepared=MOMENT)
    ledger.begin_anew(epoch, [found], MOMENT)
    new = replace(_entry("r-2", draws=[_draw("b", "2")]), beginning=epoch)
    ledger.put(new)
    assert ledger.beginning == epoch
    assert ledger.entries() == (old, found, new)


def test_what_an_older_ledger_has_as_prepared_did_leave(tmp_path):
    ledger = Ledger(tmp_path / "state")
    prepared = _entry(state="prepared")
    ledger.put(prepared)
    ledger.begin_anew(5, [replace(prepared, state="sealed", release_id="id-1")], MOMENT)
    (entry,) = ledger.entries()
    assert (entry.state, entry.release_id) == ("sealed", "id-1")
    assert spent([entry]) == {"a": 1.5}

"""No shared family rests on a cell of few records, whichever way its links go and whoever asks."""

import numpy as np
import pytest

from owner_agent.peer.exact import smallest_cell
from owner_agent.release.ledger import Ledger
from pramana_core.errors import SmallCounts


def demand(world, owner, floor):
    """Write the smallest count into an owner's site file."""
    world.decide(owner, f"smallest_count = {floor}")


def cells(*columns):
    """The counts of the combinations that occur, one record after the other."""
    found = {}
    for cell in zip(*(column.tolist() for column in columns), strict=True):
        found[cell] = found.get(cell, 0) + 1
    return found


def test_the_smallest_cell_is_that_of_counting_record_by_record():
    rng = np.random.default_rng(3)
    for sizes in ((2,), (2, 3), (5, 4, 3), (2,) * 70):
        columns = [rng.integers(0, size, 400).astype(np.uint8) for size in sizes]
        columns[-1][:200] = columns[0][:200]
        assert smallest_cell(columns) == min(cells(*columns).values())


def session(world, structure, **more):
    task = {"kind": "parameters", "structure": structure}
    return world.run(world.proposal(task, **more))


LOCAL = {
    "child": ({"C": [], "D": ["C"], "A": [], "B": [], "E": []}, "'D' given"),
    "turned": ({"D": [], "C": ["D"], "A": [], "B": [], "E": []}, "'C' given"),
}


@pytest.mark.slow
@pytest.mark.parametrize("link", LOCAL)
@pytest.mark.parametrize("more", [0, 1])
def test_every_cell_of_an_exact_family_counts(closed_world, codes, link, more):
    """As many as the smallest cell of C and D has are enough; one more are not; both ways."""
    structure, said = LOCAL[link]
    few = min(cells(codes["C"], codes["D"]).values())
    demand(closed_world, "south", few + more)
    closed_world.open()
    if not more:
        session(closed_world, structure)
        assert not closed_world.nothing_anywhere()
        return
    with pytest.raises(SmallCounts, match=f"south does not share .*{said}.* fewer than {few + 1}"):
        session(closed_world, structure)
    assert closed_world.nothing_anywhere()
    # It was found out before anything was announced: no column left, and none was prepared.
    assert not any("/parts/" in sent.line for sent in closed_world.wire.sent)
    for owner in closed_world.told:
        entries = Ledger(closed_world.folder(owner) / ".pramana").entries()
        assert [(e.state, e.draws) for e in entries] == [("discarded", ())]


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 1])
def test_reports_of_a_randomized_parent_count_too(closed_world, codes, more):
    """North knows its reports of B; the parameters of C given B tell it the counts of both."""
    closed_world.open()
    structure = {"A": [], "B": [], "C": ["B"], "D": [], "E": []}
    session(closed_world, structure)
    holding = closed_world.participants["south"].session.holding
    from owner_agent.peer.exchange.incoming import receive

    announced = closed_world.participants["south"].session.announcements["north"]
    (body,) = [
        s.answer for s in closed_world.wire.sent if s.receiver == "north" and "/parts/" in s.line
    ]
    plan = closed_world.participants["south"].session.plan_for("north", "south")
    got = receive("north", plan, announced.packages["south"], lambda _n: body, holding)
    few = min(cells(got.columns["B"], holding.columns["C"]).values())
    assert few < min(cells(holding.columns["C"]).values())
    demand(closed_world, "south", few + more)
    closed_world.open()
    if not more:
        session(closed_world, structure, session="cd" * 16)
        return
    with pytest.raises(SmallCounts, match=r"'C' given \['B'\].*columns of south.*fewer than"):
        session(closed_world, structure, session="cd" * 16)
    assert len(closed_world.results("east")) == 3


def test_families_that_a_search_found_count_too(closed_world, codes):
    """D finds C: the cells of both count, though each category alone has records enough."""
    demand(closed_world, "south", min(cells(codes["C"], codes["D"]).values()) + 1)
    closed_world.open()
    task = {"kind": "structure", "order": ["C", "D", "A", "E"], "draws": 0}
    with pytest.raises(SmallCounts, match=r"'D' given \['C'\]"):
        closed_world.run(closed_world.proposal(task))
    assert closed_world.nothing_anywhere()

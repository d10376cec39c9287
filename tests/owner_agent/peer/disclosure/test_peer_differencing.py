"""A peer that chooses the groups and subtracts: what it learns where it may, and that it may not.

North's column A is not randomized. Its owner writes into it whatever groups of people it likes, and
asks for the parameters of south's sensitive D given A: exact counts of D in these groups.
"""

import itertools
import json

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from owner_agent.cli.main import build
from owner_agent.peer.exact import partition_digest, shared_tables
from owner_agent.release.ledger import Ledger
from owner_agent.state.environment import Environment
from pramana_core.domain import Domain
from pramana_core.errors import OtherGroupings, SessionEnded, StoreCorrupt
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.bayes_net import learn_parameters
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import ReportedCounts
from pramana_core.plan import Plan
from pramana_core.terminal import run

SPLIT = {"A": [], "D": ["A"], "E": []}
NUMBERS = itertools.count()


def write(world, owner, codes, labels=("no", "yes"), records=None, last=None):
    """Write an owner's table: columns of codes, of the first records or of all but some."""
    kept = range(len(next(iter(codes.values())))) if records is None else records
    lines = [",".join(["id", *codes])]
    for i in kept:
        lines.append(
            ",".join([f"Zq{i:04d}Person", *(labels[column[i]] for column in codes.values())])
        )
    (world.folder(owner) / "table.csv").write_text("\n".join(lines) + "\n")


def three(world, make_site, records, seed=5):
    """Three owners: north with the groups A, south with the sensitive D and with C, east with E."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, 2, records) for name in "ACDE"}
    sites = {
        "north": {"A": None},
        "south": {"C": None, "D": '{ kind = "symmetric", p = 0.2 }'},
        "east": {"E": None},
    }
    for owner, variables in sites.items():
        world.add(owner, make_site(owner, variables), {n: codes[n] for n in variables})
    # Attackers decide for themselves what they allow.
    for owner in ("north", "east"):
        world.decide(owner, "groupings = 100000")
    return codes


def told(world, structure, **more):
    """Run a session; return the estimates that north reads, by node, value and parents."""
    session = f"{next(NUMBERS):032x}"
    proposal = world.proposal(
        {"kind": "parameters", "structure": structure}, session=session, **more
    )
    outcome = world.run(proposal)
    network = json.loads((outcome.folder / "network.json").read_text())
    return {
        (p["node"], p["value"], *p["parents"].values()): p["estimate"]
        for p in network["parameters"]
    }


def ill_by_group(found, groups, labels=("no", "yes")):
    """The counts of D = yes in each group: what north computes from shares and its own column."""
    sizes = np.bincount(groups, minlength=len(labels))
    return [round(found["D", "yes", labels[g]] * sizes[g]) for g in range(len(labels))]


def moved(groups, person):
    """The groups with one person in the other one."""
    other = groups.copy()
    other[person] = 1 - other[person]
    return other


def tables(world):
    """The tables that south shared exactly."""
    return shared_tables(Ledger(world.folder("south") / ".pramana").entries())


def parts_told(world, owner):
    """Whether an owner's part of the last session was ever made."""
    return "part" in world.participants[owner].session.own


@pytest.mark.slow
@pytest.mark.parametrize("person", [0, 1])
def test_the_control_a_person_moved_is_a_person_told(empty_world, make_site, person):
    """Where south allows two groupings, subtraction tells the moved person's value."""
    codes = three(empty_world, make_site, 200)
    assert set(codes["D"][:2]) == {0, 1}
    empty_world.decide("south", "groupings = 2")
    empty_world.open()
    before = ill_by_group(told(empty_world, SPLIT), codes["A"])
    groups = moved(codes["A"], person)
    write(empty_world, "north", {"A": groups})
    after = ill_by_group(told(empty_world, SPLIT), groups)
    joined = groups[person]
    assert after[joined] - before[joined] == codes["D"][person]


def rename(world):
    """Another name of the variable and of the column."""
    path = world.folder("north") / "site.toml"
    path.write_text(path.read_text().replace('name = "A"', 'name = "B"'))
    table = world.folder("north") / "table.csv"
    table.write_text(table.read_text().replace("id,A", "id,B"))
    return {"B": [], "D": ["B"], "E": []}


def relabel(world):
    """The categories in the other order: every code is another."""
    path = world.folder("north") / "site.toml"
    path.write_text(
        path.read_text().replace('categories = ["no", "yes"]', 'categories = ["yes", "no"]')
    )
    return SPLIT


def other_labels(world):
    """Categories of other names, and one more that nobody has."""
    path = world.folder("north") / "site.toml"
    path.write_text(path.read_text().replace('["no", "yes"]', '["left", "right", "none"]'))
    table = world.folder("north") / "table.csv"
    table.write_text(table.read_text().replace(",no", ",left").replace(",yes", ",right"))
    return SPLIT


def unchanged(_world):
    return SPLIT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("disguise", "moves"),
    [(rename, False), (relabel, False), (other_labels, False), (unchanged, True), (rename, True)],
)
def test_by_default_only_the_same_groups_are_told_again(empty_world, make_site, disguise, moves):
    """However they are called; and the same groups are told as often as anybody asks."""
    codes = three(empty_world, make_site, 200)
    empty_world.open()
    told(empty_world, SPLIT)
    if moves:
        write(empty_world, "north", {"A": moved(codes["A"], 7)})
    structure = disguise(empty_world)
    empty_world.open()
    if not moves:
        told(empty_world, structure)
        (one,) = tables(empty_world)
        assert (one.columns, one.against) == (["D"], ["A"])
        return
    with pytest.raises(OtherGroupings) as raised:
        told(empty_world, structure)
    assert not parts_told(empty_world, "south")
    # What the others hear names no column that it was told against before.
    assert "'A'" not in raised.value.message
    assert "'B'" not in raised.value.message


@pytest.mark.slow
def test_one_record_less_is_another_table(empty_world, make_site):
    """All leave out person 7: the sums before and after differ by that person's value."""
    codes = three(empty_world, make_site, 200)
    empty_world.decide("south", "groupings = 2")
    empty_world.open()
    before = told(empty_world, {"A": [], "D": [], "E": []})["D", "yes"] * 200
    rest = [i for i in range(200) if i != 7]
    own = {"north": "A", "south": "CD", "east": "E"}
    for owner, names in own.items():
        write(empty_world, owner, {n: codes[n] for n in names}, records=rest)
    after = told(empty_world, {"A": [], "D": [], "E": []})["D", "yes"] * 199
    assert round(before - after) == codes["D"][7]
    # The third is refused before any column leaves, and so would the second have been by default.
    rest.remove(8)
    for owner, names in own.items():
        write(empty_world, owner, {n: codes[n] for n in names}, records=rest)
    sent = len(empty_world.wire.sent)
    with pytest.raises(SessionEnded, match="south cannot take part"):
        told(empty_world, {"A": [], "D": [], "E": []})
    assert isinstance(empty_world.participants["south"].own_error, OtherGroupings)
    assert not any("/parts/" in one.line for one in empty_world.wire.sent[sent:])


@pytest.mark.slow
@pytest.mark.parametrize("corrections", [None, "keep"])
def test_a_corrected_value_is_another_table(empty_world, make_site, corrections):
    """Also where no report of it changes: the counts do. Why and where is said to south alone."""
    codes = three(empty_world, make_site, 200)
    empty_world.open(corrections=corrections)
    told(empty_world, SPLIT)
    write(empty_world, "south", {"C": codes["C"], "D": moved(codes["D"], 7)})
    with pytest.raises(SessionEnded, match="south cannot take part") as raised:
        told(empty_world, SPLIT)
    assert raised.value.message == "south cannot take part (session-ended)."
    error = empty_world.participants["south"].own_error
    assert isinstance(error, OtherGroupings)
    for owner in ("north", "east"):
        ended = empty_world.told[owner][-1]
        assert "south cannot take part (session-ended)" in ended
        assert "'D'" not in ended
        assert "group" not in ended
        assert "values" not in ended


@pytest.mark.slow
def test_two_peers_together_gain_nothing(empty_world, make_site):
    """East puts its people where north has them, but one: it is D's own memory that counts."""
    codes = three(empty_world, make_site, 200)
    empty_world.open()
    write(empty_world, "east", {"E": moved(codes["A"], 7)})
    told(empty_world, SPLIT)
    with pytest.raises(OtherGroupings):
        told(empty_world, {"A": [], "D": ["E"], "E": []})
    # East's column as it is north's would have been the same groups.
    write(empty_world, "east", {"E": codes["A"]})
    told(empty_world, {"A": [], "D": ["E"], "E": []})


@pytest.mark.slow
@pytest.mark.parametrize("groupings", [1, 2])
def test_two_groupings_in_one_session_are_two(empty_world, make_site, groupings):
    """D given A, and C given D and E, where E is A but for one person."""
    codes = three(empty_world, make_site, 400)
    empty_world.decide("south", f"groupings = {groupings}")
    write(empty_world, "east", {"E": moved(codes["A"], 7)})
    empty_world.open()
    structure = {"A": [], "D": ["A"], "E": [], "C": ["D", "E"]}
    if groupings == 2:
        told(empty_world, structure)
        known = tables(empty_world)
        assert [(one.columns, one.against) for one in known] == [
            (["D", "C"], ["A"]),
            (["D", "C"], ["E"]),
        ]
        return
    with pytest.raises(OtherGroupings):
        told(empty_world, structure)
    assert not parts_told(empty_world, "south")


@pytest.mark.slow
def test_columns_whose_joint_table_keeps_to_the_floor_are_one(empty_world, make_site):
    """A and E are independent: all that is told of D lies in one table without a small cell."""
    three(empty_world, make_site, 400)
    empty_world.open()
    told(empty_world, {"A": [], "D": ["A"], "E": [], "C": ["D", "E"]})
    told(empty_world, {"A": [], "D": ["A", "E"], "E": [], "C": []})
    (one,) = tables(empty_world)
    assert one.against == ["A", "E"]
    for parents in ([], ["A"], ["E"]):
        told(empty_world, {"A": [], "D": parents, "E": [], "C": []})
    assert len(tables(empty_world)) == 1
    write(empty_world, "north", {"A": np.arange(400) % 2})
    with pytest.raises(OtherGroupings):
        told(empty_world, {"A": [], "D": ["A"], "E": [], "C": []})


def everybody(rows, counts, total):
    """Who is ill, by the sums over groups: numbers from 0 to 1 that fit, rounded."""
    equations = np.vstack([*rows, np.ones(len(rows[0]))]).astype(float)
    return np.round(lsq_linear(equations, np.array([*counts, total]), bounds=(0, 1)).x)


@pytest.mark.calibration
def test_figures_of_the_papers_protocol():
    """Without a limit: 200 of 200 people by moving each, and all in 100 sessions of four groups.

    The tables are those that the parameters tell, by the learner that the sessions run.
    """
    rng = np.random.default_rng(2)
    ill = rng.integers(0, 2, 200)
    groups = rng.integers(0, 2, 200)
    assert cells_of(ill, groups).min() >= 5
    before = cells_of(ill, groups)
    found = []
    for person in range(200):
        after = cells_of(ill, moved(groups, person))
        assert after.min() >= 5
        joined = 1 - groups[person]
        found.append(after[joined, 1] - before[joined, 1])
    assert np.array_equal(found, ill)
    right = []
    for _ in range(3):
        ill = rng.integers(0, 2, 200)
        rows, counts = [], []
        for _ in range(100):
            groups = rng.permutation(np.arange(200) % 4)
            table = cells_of(ill, groups, 4)
            assert table.min() >= 5
            rows += [groups == g for g in range(3)]
            counts += table[:3, 1].tolist()
        right.append((everybody(rows, counts, ill.sum()) == ill).mean())
    assert right == [1.0] * 3


def cells_of(ill, groups, kinds=2):
    """The counts of both values in each group, from the parameters that a session would tell."""
    domain = Domain.of(A=[str(k) for k in range(kinds)], D=["no", "yes"])
    plan = Plan.unrandomized(domain)
    reports = ReportedCounts(
        {"A": groups.astype(np.uint8), "D": ill.astype(np.uint8)}, plan.reported_sizes
    )
    learned = learn_parameters(
        EstimatedMarginals(reports, plan), Structure.of({"A": [], "D": ["A"]})
    )
    (family,) = [f for f in learned.families if f.node == "D"]
    return np.round(family.estimate * np.bincount(groups, minlength=kinds)[:, None]).astype(int)


@pytest.mark.slow
def test_a_refusal_of_other_groups_does_not_look_at_the_values(empty_world, make_site):
    """Five of one value would keep to the floor, and five of two would not: one answer for both."""
    codes = three(empty_world, make_site, 200)
    empty_world.open()
    told(empty_world, SPLIT)
    for value in (0, 1):
        ones, others = np.flatnonzero(codes["D"] == value), np.flatnonzero(codes["D"] != value)
        groups = np.zeros(200, dtype=int)
        groups[[*ones[: 5 - value], *others[:value]]] = 1
        assert (np.bincount(codes["D"][groups == 1]).max() == 5) == (value == 0)
        write(empty_world, "north", {"A": groups})
        with pytest.raises(OtherGroupings):
            told(empty_world, SPLIT)


def related(world, make_site, records=200, groups=None):
    """South has B (low, mid or high) and C (B is not low); east's groups E are A, or others."""
    rng = np.random.default_rng(1)
    b, a = rng.integers(0, 3, records), rng.integers(0, 2, records)
    codes = {"A": a, "B": b, "C": (b > 0).astype(int), "E": a if groups is None else groups}
    sites = {
        "north": {"A": None},
        "south": {"B": '{ kind = "symmetric", p = 0.3 }', "C": '{ kind = "symmetric", p = 0.2 }'},
        "east": {"E": None},
    }
    for owner, variables in sites.items():
        world.add(owner, make_site(owner, variables), {v: codes[v] for v in variables})
    for owner in ("north", "east"):
        world.decide(owner, "groupings = 100000")
    return codes


def told_of_c(found, codes, groups, person):
    """The person's C by subtraction: C in the group that it joined, less those of B there."""
    joined = groups[person]
    label = ("no", "yes")[joined]
    sizes = np.bincount(codes["A"])[joined], np.bincount(groups)[joined]
    of_b = (found["B", "mid", label] + found["B", "high", label]) * sizes[0]
    return round(found["C", "yes", label] * sizes[1] - of_b)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("groupings", "person", "sessions"), [(1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 1, 2)]
)
def test_two_columns_that_go_together_are_told_by_the_same_groups(
    empty_world, make_site, groupings, person, sessions
):
    """B by one grouping and C by another would be subtracted, in one session or in two."""
    codes = related(empty_world, make_site)
    empty_world.decide("south", f"groupings = {groupings}")
    groups = moved(codes["A"], person)
    write(empty_world, "east", {"E": groups})
    empty_world.open()
    both = {"A": [], "E": [], "B": ["A"], "C": ["E"]}
    asked = [both] if sessions == 1 else [{**both, "C": []}, {**both, "B": []}]
    found = {}
    for structure in asked[:-1]:
        found |= told(empty_world, structure)
    if groupings == 1:
        with pytest.raises(OtherGroupings):
            told(empty_world, asked[-1])
        assert not parts_told(empty_world, "south")
        return
    # The control: where south allows two, they tell the moved person's value.
    found |= told(empty_world, asked[-1])
    assert told_of_c(found, codes, groups, person) == codes["C"][person]


def test_a_digest_is_of_records_and_groups_alone():
    """By all ways to name four groups, all ways to move one record, and all records left out."""
    keys = np.random.default_rng(3).integers(0, 256, (9, 16), dtype=np.uint8).view("V16").ravel()
    codes = np.array([2, 0, 1, 0, 3, 3, 0, 1, 2], dtype=np.uint8)
    digest = partition_digest(keys, codes)
    for names in itertools.permutations(range(7), 4):
        assert partition_digest(keys, np.array(names, dtype=np.int64)[codes]) == digest
    others = set()
    for record, code in itertools.product(range(9), range(5)):
        if codes[record] != code:
            changed = codes.copy()
            changed[record] = code
            others.add(partition_digest(keys, changed))
    # Of a group of two, either may be the one that leaves for a group of its own; three are such.
    assert len(others) == 9 * 4 - 3
    others |= {partition_digest(np.delete(keys, i), np.delete(codes, i)) for i in range(9)}
    others.add(partition_digest(keys[::-1], codes))
    assert len(others) == 9 * 4 - 3 + 10
    assert digest not in others


@pytest.mark.slow
def test_nothing_is_shared_beside_tables_of_an_earlier_version(empty_world, make_site):
    three(empty_world, make_site, 400)
    (empty_world.folder("south") / ".pramana" / "disclosures.json").write_text("{}")
    empty_world.open()
    with pytest.raises(StoreCorrupt):
        told(empty_world, SPLIT)
    assert empty_world.participants["south"].own_error.where.endswith("disclosures.json")
    assert not parts_told(empty_world, "south")


@pytest.fixture
def ledger(empty_world, capsys, monkeypatch):
    """South's ledger as the command prints it; it must not fail."""

    def listed(*words):
        path = str(empty_world.folder("south") / "site.toml")
        monkeypatch.setattr("sys.argv", ["owner-agent", "ledger", "--site", path, *words])
        monkeypatch.setenv("COLUMNS", "300")
        with pytest.raises(SystemExit) as ended:
            run(build(Environment()))
        assert ended.value.code == 0
        return capsys.readouterr().out

    return listed


@pytest.mark.slow
def test_what_was_told_is_listed(empty_world, make_site, ledger):
    """For people, and for scripts."""
    three(empty_world, make_site, 400)
    empty_world.decide("south", "groupings = 2")
    empty_world.open()
    told(empty_world, {"A": [], "D": [], "E": []})
    told(empty_world, SPLIT)
    write(empty_world, "north", {"A": np.arange(400) % 2})
    told(empty_world, SPLIT)

    families = [one["families"] for one in json.loads(ledger("--json"))["parameters_shared"]]
    assert families == [[{"node": "D", "parents": p}] for p in ([], ["A"], ["A"])]
    assert "the parameters of D given A" in " ".join(ledger().split())
    listed = json.loads(ledger("--json"))["tables_shared"]
    assert [(one["columns"], one["against"]) for one in listed] == [(["D"], ["A"])] * 2
    shown = " ".join(ledger().split())
    assert "Tables shared exactly with peers" in shown
    assert "asia D A asia D A" in shown
    assert "The site file allows 2" in shown

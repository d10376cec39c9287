"""An owner that shares counts with noise only: what others read, what it costs and refuses."""

import functools
import itertools
import json

import numpy as np
import pytest

from owner_agent.peer import noise
from owner_agent.peer.exact import disclosures
from owner_agent.peer.noise import NoiseMechanism
from owner_agent.release.composition import spent
from owner_agent.release.ledger import Ledger
from pramana_core.errors import (
    ConfigError,
    Conflict,
    Forbidden,
    NoiseSpent,
    SmallCounts,
    StoreCorrupt,
)

LAPLACE = 'noise = { kind = "laplace", epsilon = 0.5, max_epsilon = 1.0 }'
GAUSSIAN = 'noise = { kind = "gaussian", epsilon = 0.5, delta = 1e-6, max_epsilon = 1.0 }'
SPLIT = {"A": [], "B": [], "D": ["B"], "C": [], "E": []}
NUMBERS = itertools.count()


def learn(world, structure, **more):
    """Run a session; return the network, and its estimates by node, value and parents."""
    session = f"{next(NUMBERS):032x}"
    task = {"kind": "parameters", "structure": structure}
    outcome = world.run(world.proposal(task, session=session, **more))
    network = json.loads((outcome.folder / "network.json").read_text())
    found = {
        (p["node"], p["value"], *p["parents"].values()): p["estimate"]
        for p in network["parameters"]
    }
    return network, found


def state(world, owner="south"):
    return world.folder(owner) / ".pramana"


def noises(world, owner="south"):
    """The ledger's lines of noise: their columns, with epsilon."""
    entries = Ledger(state(world, owner)).entries()
    drawn = [[d for d in entry.draws if d.is_noise] for entry in entries]
    return [{d.column: d.epsilon for d in draws} for draws in drawn if draws]


@pytest.fixture
def noisy(closed_world):
    def make(line=LAPLACE):
        closed_world.decide("south", line)
        closed_world.open()
        return closed_world

    return make


@pytest.mark.slow
@pytest.mark.parametrize("line", [LAPLACE, GAUSSIAN])
def test_what_is_told_is_made_from_the_noisy_tables(noisy, codes, line):
    """C has no parents: its shares are those of the kept counts, and not of the true ones."""
    world = noisy(line)
    _, found = learn(world, SPLIT)
    kept = [json.loads(p.read_text()) for p in (state(world) / "noisy-tables").iterdir()]
    (alone,) = [one for one in kept if one["shape"] == [2]]
    counts = np.array(alone["counts"])
    shares = sorted(counts / counts.sum())
    assert sorted(v for k, v in found.items() if k[0] == "C") == pytest.approx(shares, abs=1e-12)
    assert {one["kind"] for one in kept} == {line.split('"')[1]}
    if line == LAPLACE:
        # Two tables, each changed by two: 4 / 0.5.
        assert {one["scale"] for one in kept} == {8.0}
    exact = np.bincount(codes["C"]) / 2000
    share = found["C", "no"]
    # 60 deviations of noise in 2,000 records: the counts are still about these.
    assert abs(share - exact[0]) < 60 * NoiseMechanism("laplace", 8.0).variance ** 0.5 / 2000


@pytest.mark.slow
def test_it_costs_epsilon_before_it_leaves_and_nothing_exact_is_told(noisy):
    world = noisy()
    written = []

    def bend(receiver, request):
        if request.url.path.endswith("/network"):
            written.append(noises(world))
        return

    world.wire.bend = bend
    learn(world, SPLIT)
    assert written[0] == [{"C": 0.5, "D": 0.5}]
    assert disclosures(state(world)) == []
    losses = spent(Ledger(state(world)).entries())
    assert losses == {"C": 0.5, "D": 0.5}
    # The others share exactly, as they decided.
    assert len(disclosures(state(world, "north"))) == 2


@pytest.mark.slow
def test_asking_again_repeats_the_noise_and_costs_nothing(noisy):
    """Also with the parents in another order; a coarser table is another one."""
    world = noisy('noise = { kind = "laplace", epsilon = 0.5, max_epsilon = 2.0 }')
    structure = {"A": [], "B": [], "D": ["A", "B"], "C": [], "E": []}
    _first, found = learn(world, structure)
    swapped = {"A": [], "B": [], "D": ["B", "A"], "C": [], "E": []}
    _, again = learn(world, swapped)
    for (node, value, *parents), estimate in found.items():
        assert again[node, value, *reversed(parents)] == pytest.approx(estimate, abs=1e-12)
    assert noises(world) == [{"C": 0.5, "D": 0.5}]
    learn(world, SPLIT)
    assert noises(world) == [{"C": 0.5, "D": 0.5}, {"D": 0.5}]
    assert spent(Ledger(state(world)).entries())["D"] == 1.0


@pytest.mark.slow
def test_the_same_groups_by_other_names_repeat_the_noise(empty_world, make_site, codes):
    """North's public column is called otherwise and its categories stand in another order."""
    sites = {
        "north": {"A": None},
        "south": {"D": '{ kind = "symmetric", p = 0.2 }'},
        "east": {"E": None},
    }
    for owner, variables in sites.items():
        empty_world.add(owner, make_site(owner, variables), {n: codes[n] for n in variables})
    empty_world.decide("south", LAPLACE)
    empty_world.open()
    _, found = learn(empty_world, {"A": [], "D": ["A"], "E": []})
    path = empty_world.folder("north") / "site.toml"
    text = path.read_text().replace('name = "A"', 'name = "Z"\ncolumn = "A"')
    path.write_text(text.replace('["no", "yes"]', '["yes", "no"]'))
    empty_world.open()
    _, again = learn(empty_world, {"Z": [], "D": ["Z"], "E": []})
    for key, estimate in found.items():
        if key[0] == "D":
            assert again[key] == pytest.approx(estimate, abs=1e-12)
    assert noises(empty_world) == [{"D": 0.5}]


@pytest.mark.slow
def test_categories_that_nobody_has_draw_no_other_noise(empty_world, make_site, codes):
    """North adds an empty category each time; taken away again, the first answer is the last."""
    sites = {"north": {"A": None}, "south": {"D": '{ kind = "symmetric", p = 0.2 }'}}
    for owner, variables in {**sites, "east": {"E": None}}.items():
        empty_world.add(owner, make_site(owner, variables), {n: codes[n] for n in variables})
    empty_world.decide("south", LAPLACE)
    path = empty_world.folder("north") / "site.toml"
    text = path.read_text()
    found = []
    for more in (0, 1, 2, 3, 1, 0):
        labels = json.dumps(["no", "yes", *(f"x{n}" for n in range(more))])
        path.write_text(text.replace('["no", "yes"]', labels))
        empty_world.open()
        found.append(learn(empty_world, {"A": [], "D": ["A"], "E": []})[1])
    for group in ("no", "yes"):
        assert len({one["D", "yes", group] for one in found}) == 1
    assert [len([k for k in one if k[0] == "D"]) for one in found] == [4, 6, 8, 10, 6, 4]
    for one in found[2:5]:
        # What was told of an empty category repeats as well.
        assert one["D", "yes", "x0"] == found[1]["D", "yes", "x0"]
    assert noises(empty_world) == [{"D": 0.5}]


@pytest.mark.slow
def test_counts_told_by_another_process_meanwhile_are_not_told_twice(noisy, monkeypatch):
    """Between the draw and the telling another process kept the same table with other noise."""
    world = noisy()
    draw = NoiseMechanism.draw
    world.run(world.proposal({"kind": "parameters", "structure": SPLIT}))
    folder = state(world) / "noisy-tables"
    others = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert others
    for path in folder.iterdir():
        path.unlink()

    def slow(mechanism, cells):
        for name, content in others.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        return draw(mechanism, cells)

    drawing = functools.partial(noise.noisy_tables, draw=slow)
    monkeypatch.setattr("owner_agent.peer.learning.noisy_tables", drawing)
    task = {"kind": "parameters", "structure": SPLIT}
    with pytest.raises(Conflict, match="Another process of south shared some of the same counts"):
        world.run(world.proposal(task, session="cd" * 16))
    assert "part" not in world.participants["south"].session.own
    assert noises(world) == [{"C": 0.5, "D": 0.5}]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == others


@pytest.mark.parametrize("kind", ['"laplace"', '"gaussian", delta = 1e-6'])
def test_noise_without_an_end_is_not_taken(closed_world, kind):
    """Averages over sessions without number would tell every count."""
    closed_world.decide("south", f"noise = {{ kind = {kind}, epsilon = 0.5 }}")
    with pytest.raises(ConfigError, match="max_epsilon"):
        closed_world.open()


@pytest.mark.slow
def test_other_groups_cost_until_nothing_is_left(empty_world, make_site, codes):
    """North moves one person, and another: two tables may be told for epsilon 1, and no third."""
    sites = {"north": {"A": None}, "south": {"D": '{ kind = "symmetric", p = 0.2 }'}}
    for owner, variables in {**sites, "east": {"E": None}}.items():
        empty_world.add(owner, make_site(owner, variables), {n: codes[n] for n in variables})
    empty_world.decide("north", "groupings = 3")
    empty_world.decide("south", LAPLACE)
    empty_world.open()
    structure = {"A": [], "D": ["A"], "E": []}
    learn(empty_world, structure)
    move(empty_world, 1)
    learn(empty_world, structure)
    assert noises(empty_world) == [{"D": 0.5}, {"D": 0.5}]
    move(empty_world, 2)
    with pytest.raises(NoiseSpent, match=r"south does not share more counts.*epsilon 1.5 in all"):
        learn(empty_world, structure)
    assert "part" not in empty_world.participants["south"].session.own
    assert len(noises(empty_world)) == 2


def move(world, line):
    """Move the person of a line of north's table into the other group."""
    table = world.folder("north") / "table.csv"
    lines = table.read_text().splitlines()
    head, value = lines[line].split(",")
    lines[line] = f"{head},{'no' if value == 'yes' else 'yes'}"
    table.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("line", [LAPLACE, "groupings = 1"])
def test_the_floor_is_not_asked(noisy, line):
    """Its answer would be exact; the same session without noise is refused."""
    world = noisy(f"{line}\nsmallest_count = 1900")
    if line == LAPLACE:
        learn(world, SPLIT)
        return
    with pytest.raises(SmallCounts):
        learn(world, SPLIT)


@pytest.mark.slow
def test_columns_may_be_sent_after_noise_on_their_counts(noisy):
    """Noise adds up and is no other randomization of the records: no conflict."""
    world = noisy()
    learn(world, SPLIT)
    learn(world, {"A": [], "B": [], "D": ["B"], "C": [], "E": ["D"]})
    entries = Ledger(state(world)).entries()
    epsilons = {
        draw.draw_id: draw.epsilon for e in entries for draw in e.draws if draw.column == "D"
    }
    assert len(epsilons) == 2
    assert spent(entries)["D"] == pytest.approx(sum(epsilons.values()))


def test_a_structure_is_not_searched_with_noise(noisy):
    world = noisy()
    task = {"kind": "structure", "order": ["A", "B", "C", "D", "E"], "draws": 0}
    with pytest.raises(Forbidden, match="south shares counts with noise only") as raised:
        world.run(world.proposal(task))
    assert 'kind = "parameters"' in raised.value.remedy
    assert not any("/parts/" in sent.line for sent in world.wire.sent)


def test_what_south_learns_for_itself_is_exact_and_costs_nothing(noisy):
    world = noisy()
    task = {"kind": "contingency-table", "variables": ["B", "D"]}
    world.run(world.proposal(task, initiator="south", participants=["south", "north"]))
    assert noises(world) == []


@pytest.mark.slow
def test_the_initiator_of_owners_of_the_same_variables_adds_it_too(
    empty_world, make_site, make_codes
):
    """Only its own true records get noise: the others' reports have their own protection."""
    channels = {"A": '{ kind = "binary", p1 = 0.1, p2 = 0.25 }', "D": None}
    for number, owner in enumerate(("north", "south", "east")):
        codes = make_codes(seed=number, records=400)
        own = {name: codes[name] for name in channels}
        empty_world.add(owner, make_site(owner, channels), own, start=400 * number)
    empty_world.decide("north", LAPLACE)
    empty_world.open()
    structure = {"A": [], "D": ["A"]}
    network, _ = learn(empty_world, structure, partition="horizontal")
    again, _ = learn(empty_world, structure, partition="horizontal")
    assert network["parameters"] == again["parameters"]
    assert noises(empty_world, "north") == [{"A": 0.5, "D": 0.5}]
    assert noises(empty_world) == []


@pytest.mark.slow
def test_without_the_memory_of_what_was_told_nothing_more_is(world, parameters_task):
    world.run(world.proposal(parameters_task))
    (state(world) / "disclosures.json").unlink()
    again = world.proposal(parameters_task, session="cd" * 16)
    with pytest.raises(StoreCorrupt, match=r"south cannot take part \(store-corrupt\)"):
        world.run(again)
    assert "nobody knows" in str(world.participants["south"].own_error)
    assert "disclosures.json" not in str(world.told["north"])

"""Owners of the same variables and other records: counts or records, under plans of their own."""

import csv
import hashlib
import io
import json
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from owner_agent.peer.exchange.incoming import TabulatedCounts, receive
from owner_agent.peer.protocol.messages import Announcement, CountTables
from owner_agent.release.ledger import Ledger
from pramana_core.errors import (
    DomainError,
    LimitExceeded,
    PeerDeviated,
    SmallCounts,
    UnknownVariable,
)

STRUCTURE = {"A": [], "B": ["A"], "C": ["A", "B"]}
SYMMETRIC = '{{ kind = "symmetric", p = {} }}'
NOISE = {"north": 0.4, "south": 0.25, "east": 0.125}
"""Each owner randomizes A and B at its own strength; C is not sensitive."""

RECORDS = {"north": 900, "south": 1100, "east": 1300}


def p_matrix(size, p):
    off = round(p / (size - 1) * 2**32) / 2**32
    return np.where(np.eye(size), 1 - (size - 1) * off, off)


@pytest.fixture
def horizontal(empty_world, make_site, make_codes):
    """Build three owners; `send` by owner, default counts. Returns the true codes by owner."""

    def build(send=None, change=None, open_all=True):
        truth = {}
        for number, (owner, p) in enumerate(NOISE.items()):
            codes = make_codes(30 + number, RECORDS[owner])
            truth[owner] = {n: codes[n] for n in "ABC"}
            channel = SYMMETRIC.format(p)
            how = (send or {}).get(owner, "counts")
            more = f'[peer]\nstudy = "asia"\nsend = "{how}"\n'
            text = make_site(owner, {"A": channel, "B": channel, "C": None}, more)
            text = (change or {}).get(owner, lambda t: t)(text)
            empty_world.add(owner, text, truth[owner], start=number * 3000)
        if open_all:
            empty_world.open()
        return truth

    return build


def run(world, task, **more):
    return world.run(world.proposal(task, partition="horizontal", **more))


def answers(world):
    return {
        s.receiver: s.answer for s in world.wire.sent if "/parts/" in s.line and s.status == 200
    }


def reported(world, send):
    """The reports of the peers as they came over the wire, as tables over A, B and C."""
    tables = {}
    for owner, body in answers(world).items():
        if send == "counts":
            told = {tuple(t.variables): t for t in CountTables.model_validate_json(body).tables}
            largest = told[max(told, key=len)]
            tables[owner] = np.array(largest.counts, dtype=float).reshape(largest.shape)
            assert largest.variables == ["A", "B", "C"]
        else:
            table = pa.ipc.open_stream(body).read_all()
            tables[owner] = np.zeros((2, 3, 2))
            np.add.at(tables[owner], tuple(table[n].to_numpy() for n in "ABC"), 1)
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("send", ["counts", "records"])
def test_strata_with_different_matrices_combine(empty_world, horizontal, send):
    """N^ is the sum over the owners of (P')^-1 N~, each with its own P; north's own is exact."""
    truth = horizontal(dict.fromkeys(NOISE, send))
    outcome = run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    hat = np.zeros((2, 3, 2))
    np.add.at(hat, tuple(truth["north"][n] for n in "ABC"), 1)
    tables = reported(empty_world, send)
    assert sorted(tables) == ["east", "south"]
    for owner, tilde in tables.items():
        assert tilde.sum() == RECORDS[owner]
        a, b = p_matrix(2, NOISE[owner]), p_matrix(3, NOISE[owner])
        whole = np.kron(np.kron(a, b), np.eye(2))
        hat += np.linalg.solve(whole.T, tilde.ravel()).reshape(2, 3, 2)
    files = [empty_world.results(owner) for owner in NOISE]
    assert files[0] == files[1] == files[2]
    network = json.loads(files[0][f"{outcome.session}/network.json"])
    assert network["records"] == 3300
    expected = {
        "A": hat.sum(axis=(1, 2)) / hat.sum(),
        "B": hat.sum(axis=2) / hat.sum(axis=(1, 2))[:, None],
        "C": hat / hat.sum(axis=2, keepdims=True),
    }
    labels = {"A": ["no", "yes"], "B": ["low", "mid", "high"], "C": ["no", "yes"]}
    for p in network["parameters"]:
        cell = [labels[n].index(v) for n, v in p["parents"].items()]
        cell.append(labels[p["node"]].index(p["value"]))
        assert p["estimate"] == pytest.approx(expected[p["node"]][tuple(cell)], abs=1e-9)


@pytest.mark.slow
def test_records_travel_without_name_and_order(empty_world, horizontal):
    horizontal(dict.fromkeys(NOISE, "records"))
    run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    for body in answers(empty_world).values():
        table = pa.ipc.open_stream(body).read_all()
        numbers = [int.from_bytes(key, "big") for key in table["__key__"].to_pylist()]
        assert numbers == list(range(len(numbers)))
        rows = list(zip(*(table[n].to_pylist() for n in "ABC"), strict=True))
        assert rows == sorted(rows)


def test_one_may_send_counts_and_another_records(empty_world, horizontal):
    horizontal({"south": "records"})
    run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    forms = {owner: body[:1] for owner, body in answers(empty_world).items()}
    assert forms["east"] == b"{"
    assert forms["south"] != b"{"
    assert empty_world.results("east") == empty_world.results("south") != {}


@pytest.mark.slow
@pytest.mark.parametrize("send", ["counts", "records"])
def test_a_structure_and_a_table_of_all_records(empty_world, horizontal, send):
    truth = horizontal(dict.fromkeys(NOISE, send))
    run(empty_world, {"kind": "structure", "order": ["A", "B", "C"], "draws": 10})
    (text,) = [v for k, v in empty_world.results("east").items() if k.endswith(".json")]
    links = {(k["parent"], k["child"]) for k in json.loads(text)["links"]}
    # A -> C and B -> C move a probability by 0.2 or more; A -> B moves it by 0.3.
    assert ("A", "B") in links
    assert ("A", "C") in links
    task = {"kind": "contingency-table", "variables": ["B", "C"]}
    outcome = run(empty_world, task, session="cd" * 16)
    written = empty_world.results("north")[f"{outcome.session}/table.csv"].decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert sum(float(row["count"]) for row in rows) == pytest.approx(3300)
    # Within six standard errors of the truth, cell by cell: one false alarm in 10^8 runs.
    table = np.zeros((3, 2))
    for codes in truth.values():
        np.add.at(table, (codes["B"], codes["C"]), 1)
    for row in rows:
        true = table[["low", "mid", "high"].index(row["B"]), ["no", "yes"].index(row["C"])]
        assert abs(float(row["count"]) - true) < 6 * float(row["se_records"])
    assert list(empty_world.results("south")) == list(empty_world.results("east"))
    assert all("cdcd" not in path for path in empty_world.results("south"))


@pytest.mark.slow
def test_owners_of_different_people_do_not_add(empty_world, horizontal):
    """Each record has lost what its own owner told; who begins the session sends nobody any."""
    horizontal()
    outcome = run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    each = {o: e.determined.epsilon for o, e in outcome.told.owners.items()}
    lost = {"south": 0.25, "east": 0.125}
    # A is binary and B has three categories: gamma (1 - p)/p and 2 (1 - p)/p.
    assert each == pytest.approx({o: np.log(2 * ((1 - p) / p) ** 2) for o, p in lost.items()})
    assert outcome.told.record.determined.epsilon == pytest.approx(each["east"])


@pytest.mark.slow
def test_the_ledger_has_what_left_in_either_form(empty_world, horizontal):
    horizontal({"south": "records"})
    run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    for owner in ("south", "east"):
        entries = Ledger(empty_world.folder(owner) / ".pramana").entries()
        (line,) = [e for e in entries if e.draws]
        assert (line.miner, line.records, line.state) == ("peer:north", RECORDS[owner], "sealed")
        assert [(d.variable, d.randomized) for d in line.draws] == [
            ("A", True), ("B", True), ("C", False),
        ]  # fmt: skip
    assert not any(e.draws for e in Ledger(empty_world.folder("north") / ".pramana").entries())


def test_a_table_that_was_not_asked_for(empty_world, horizontal):
    """Its own site would let it leave; this owner takes only what its task needs."""
    horizontal()
    proposal = empty_world.proposal(
        {"kind": "parameters", "structure": STRUCTURE}, partition="horizontal"
    )
    empty_world.run(proposal)
    south = empty_world.participants["south"].session
    announced = Announcement.model_validate_json(south.own["announcement"].content)
    package = announced.packages["north"]
    taken = partial(receive, "south", holding=None, proposal=proposal)
    tables = CountTables.model_validate_json(answers(empty_world)["south"]).tables
    largest = max(tables, key=lambda table: len(table.variables))
    alone = np.array(largest.counts).reshape(largest.shape).sum(axis=(0, 1))
    more = type(largest)(variables=["C"], shape=[2], counts=alone.tolist())
    assert all(table.variables != ["C"] for table in tables)
    for sent, fits in ((tables, True), ([*tables, more], False), (tables[1:], False)):
        body = CountTables(tables=sent).model_dump_json().encode()
        digest = hashlib.sha256(body).hexdigest()
        (part,) = package.parts
        part = part.model_copy(update={"bytes": len(body), "sha256": digest})
        of_it = package.model_copy(update={"parts": [part]})
        if fits:
            assert taken(of_it, lambda _, body=body: body).reports.records == RECORDS["south"]
        else:
            with pytest.raises(PeerDeviated, match="counts over other variables"):
                taken(of_it, lambda _, body=body: body)


def test_owners_that_describe_a_variable_differently(empty_world, horizontal):
    change = {"south": lambda t: t.replace('"low", "mid", "high"', '"low", "high", "mid"')}
    horizontal(change=change)
    with pytest.raises(DomainError, match="south and north do not have the same variables"):
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    assert empty_world.nothing_anywhere()


def test_an_owner_that_lacks_a_variable(empty_world, horizontal):
    horizontal(open_all=False)
    path = empty_world.folder("east") / "site.toml"
    text = path.read_text()
    path.write_text(text[: text.rindex("[[variables]]")])
    empty_world.open()
    with pytest.raises(DomainError, match="east and north"):
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})


def test_the_initiator_does_not_share_what_few_of_its_records_say(empty_world, horizontal):
    truth = horizontal(open_all=False)
    few = int(np.bincount(truth["north"]["A"]).min())
    path = empty_world.folder("north") / "site.toml"
    path.write_text(path.read_text().replace("send =", f"smallest_count = {few + 1}\nsend ="))
    empty_world.open()
    with pytest.raises(SmallCounts, match="north does not share"):
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    assert empty_world.nothing_anywhere()


def test_tables_that_would_be_too_large(empty_world, horizontal, monkeypatch):
    horizontal()
    monkeypatch.setattr("owner_agent.peer.exchange.incoming.CUBE_CELLS", 11)
    with pytest.raises(LimitExceeded, match=r"12 cells; at most 11") as raised:
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    assert 'send = "records"' in str(raised.value.remedy)


def test_tables_that_would_be_too_large_together(empty_world, horizontal, monkeypatch):
    """Of several tables, the largest of 12 cells, none is counted if all are too many."""
    horizontal()
    counted = []
    monkeypatch.setattr("owner_agent.peer.exchange.incoming.MOST_CELLS", 12)
    monkeypatch.setattr("owner_agent.peer.exchange.incoming.tabulate", lambda *a: counted.append(a))
    with pytest.raises(LimitExceeded, match=r"tables of counts have more than 12 cells") as raised:
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    assert 'send = "records"' in str(raised.value.remedy)
    assert not counted


def count_changes():
    def fewer(tables):
        tables[-1]["counts"][0] += 1

    def shape(tables):
        tables[-1]["shape"] = [3, 2, 2]

    def variables(tables):
        del tables[-1]

    def no_message(tables):
        tables[-1]["more"] = 1

    return {f.__name__: f for f in (fewer, shape, variables, no_message)}


@pytest.mark.slow
@pytest.mark.parametrize("change", count_changes())
def test_counts_that_do_not_fit_their_announcement(empty_world, horizontal, change, monkeypatch):
    """South announces, and sends, tables that cannot be counts of its records under its plan."""
    horizontal()
    from owner_agent.peer.exchange import incoming

    honest = incoming.count_tables

    class Bent:
        def __init__(self, tables):
            self.tables = tables

        def model_dump_json(self):
            return json.dumps(self.tables)

    def bent(made, scopes):
        told = json.loads(honest(made, scopes).model_dump_json())
        if len(made.keys) == RECORDS["south"]:
            count_changes()[change](told["tables"])
        return Bent(told)

    monkeypatch.setattr(incoming, "count_tables", bent)
    with pytest.raises(PeerDeviated, match="south sent"):
        run(empty_world, {"kind": "parameters", "structure": STRUCTURE})
    assert empty_world.nothing_anywhere()


def test_any_table_inside_one_that_was_sent_can_be_asked():
    counts = np.arange(24).reshape(2, 3, 4)
    reports = TabulatedCounts({("x", "y", "z"): counts, ("y",): counts.sum(axis=(0, 2))}, 276)
    assert np.array_equal(reports.table(["z", "x"]), counts.sum(axis=1).T)
    assert np.array_equal(reports.table(["y"]), [60, 92, 124])
    with pytest.raises(UnknownVariable, match="No counts over"):
        reports.table(["x", "q"])

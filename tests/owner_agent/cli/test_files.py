"""`mask` and `share-model` after `init` alone: asked, written into a file, and in the ledger."""

import csv
import hashlib
import io
import json
import os
import re

import pytest

from owner_agent.cli import options, releasing
from owner_agent.randomize.draws import pseudonyms
from owner_agent.release.ledger import FILE, Ledger
from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore
from pramana_core.wire.parts import key_order
from pramana_core.wire.release_kinds import SHARED_TREE

ROWS = [
    [str(1000 + i), "fm"[i % 2], f"{30 + i * 7 % 41},{i % 10}", str(900 + i * 37 % 300),
     ("ill", "well")[i * 7 % 41 > 20], "" if i % 30 == 7 else str(i % 4)]
    for i in range(240)
]  # fmt: skip
TABLE = [["Fallnr", "sex", "weight", "income", "state", "children"], *ROWS]
INIT = ("--owner", "ward", "--yes", "--not-sensitive", "sex")


@pytest.fixture
def ward(bench, command):
    """A site file as `init` writes it, of a table with semicolons; no keys, no miner."""
    (bench.folder / "site.toml").unlink()
    bench.state.rename(bench.folder / "elsewhere")
    text = "\n".join(";".join(row) for row in TABLE) + "\n"
    (bench.folder / "ward.csv").write_bytes(text.encode("cp1252"))
    ended = command("init", str(bench.folder / "ward.csv"), *INIT)
    assert ended.exit_code == 0, ended.err
    bench.out = bench.folder / "released"
    return bench


@pytest.fixture
def command(command):
    """Run a command without a report's page, whose pictures would take most of the time."""

    def run(*words):
        releases = words[0] in ("mask", "share-model")
        return command(*words, *(["--no-report"] if releases else []))

    return run


@pytest.fixture
def answers(monkeypatch):
    """Sit at a terminal and answer."""

    def sit(*lines):
        for module in (options, releasing):
            monkeypatch.setattr(module, "at_terminal", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return sit


MASK = ("mask", "--confidential", "income", "--confidential", "weight")
TREE = ("share-model", "--target", "state")


def test_two_commands_release_a_masked_table(ward, command):
    ended = command(*MASK, "--out", str(ward.out), "--yes")
    assert ended.exit_code == 0, ended.err
    rows = list(csv.reader(ward.out.read_text().splitlines()))
    assert rows[0] == ["sex", "income", "weight"]
    assert sorted(row[0] for row in rows[1:]) == sorted(row[1] for row in ROWS)
    true = {float(row[3]) for row in ROWS}
    assert not true & {float(row[1]) for row in rows[1:]}
    mean = sum(float(row[1]) for row in rows[1:]) / len(ROWS)
    assert mean == pytest.approx(sum(float(row[3]) for row in ROWS) / len(ROWS))
    # Masked variables left the variables, the others stayed.
    file = load_site(ward.folder / "site.toml").file
    assert [v.name for v in file.variables] == ["sex", "state", "children"]
    assert file.mask.confidential == ("income", "weight")
    assert file.mask.tell[0].categories == ("f", "m")
    (entry,) = Ledger(ward.state).entries()
    assert (entry.miner, entry.state, entry.records) == (
        f"{FILE}{ward.out.resolve()}",
        "sealed",
        len(ROWS),
    )
    assert entry.digest == hashlib.sha256(ward.out.read_bytes()).hexdigest()
    assert json.loads(command("ledger", "--json").out)["releases"][0]["miner"] == entry.miner
    assert ward.miner.requests == []


def test_the_same_table_is_the_same_release_and_another_is_refused(ward, command):
    assert command(*MASK, "--out", str(ward.out), "--yes").exit_code == 0
    first = ward.out.read_bytes()
    again = json.loads(command("mask", "--out", str(ward.out), "--yes", "--json").out)
    assert again["release"]["already"] is True
    ward.out.unlink()
    assert command("mask", "--out", str(ward.out), "--yes").exit_code == 0
    assert ward.out.read_bytes() == first
    table = ward.folder / "ward.csv"
    table.write_text(table.read_text().replace(";937;", ";938;", 1))
    refused = command("mask", "--out", str(ward.folder / "second"), "--yes")
    assert (refused.exit_code, "(plan-conflict)" in refused.err) == (2, True)
    assert not (ward.folder / "second").exists()
    assert len(Ledger(ward.state).entries()) == 1


class Killed(BaseException):
    """Stands for a kill -9."""


@pytest.mark.parametrize("words", [MASK, TREE], ids=["mask", "tree"])
def test_the_ledger_has_a_release_before_its_file(ward, command, monkeypatch, words):
    def fails(*_given):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("owner_agent.release.publish.save", fails)
        with pytest.raises(Killed):
            command(*words, "--out", str(ward.out), "--yes")
    (entry,) = Ledger(ward.state).entries()
    assert (entry.state, ward.out.exists()) == ("sending", False)
    assert command(words[0], "--out", str(ward.out), "--yes").exit_code == 0
    (entry,) = Ledger(ward.state).entries()
    assert entry.state == "sealed"
    assert entry.digest == hashlib.sha256(ward.out.read_bytes()).hexdigest()


@pytest.mark.parametrize("words", [(), ("--epsilon", "1"), ("--k", "20")])
def test_two_commands_release_a_tree(ward, command, words):
    ended = command(*TREE, *words, "--out", str(ward.out), "--yes")
    assert ended.exit_code == 0, ended.err
    document = json.loads(ward.out.read_text())
    assert document["tree"]["target"] == {"name": "state", "categories": ["ill", "well"]}
    file = load_site(ward.folder / "site.toml").file
    assert file.share_model.columns == ("sex", "weight", "income", "children", "state")
    # No extreme of the table leaves: ranges follow from the public cuts.
    assert all(a.declared for a in file.share_model.attributes)
    if "--epsilon" in words:
        assert (document["epsilon"], len(file.variables)) == (1, 5)
    else:
        assert document["requirement"]["k"] == (20 if words else 10)
        assert [v.name for v in file.variables] == ["sex"]
    (entry,) = Ledger(ward.state).entries()
    assert (entry.kind, entry.state) == (SHARED_TREE, "sealed")
    assert not KeyStore(ward.state).path("linkage").exists()


def test_what_is_missing_is_asked_and_each_step_needs_a_yes(ward, command, answers):
    path = ward.folder / "site.toml"
    before = path.read_bytes()
    for words, lines in ((("mask",), ["weight", "sex", "n"]), (("share-model",), ["state", "n"])):
        answers(*lines)
        assert command(*words).exit_code == 0
        assert path.read_bytes() == before
    answers("weight", "sex", "y", "n")
    ended = command("mask", "--out", str(ward.out))
    assert ended.exit_code == 0, ended.err
    assert "+[mask]" in ended.out
    assert not ward.out.exists()
    assert Ledger(ward.state).entries() == ()
    answers("y")
    assert command("mask", "--out", str(ward.out)).exit_code == 0
    assert ward.out.exists()


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("mask", "--yes"), "confidential"),
        (("share-model", "--yes"), "target"),
        (("mask", "--confidential", "income"), "--yes"),
        (("mask", "--confidential", "incom", "--yes"), "income"),
        (("share-model", "--target", "weight", "--yes"), "weight"),
        ((*TREE, "--yes", "--k", "5", "--epsilon", "1"), "epsilon"),
        ((*TREE, "--yes", "--out", "x", "--publish"), "--out"),
    ],
)
def test_wrong_options_write_nothing(ward, command, words, where):
    path = ward.folder / "site.toml"
    before = path.read_bytes()
    ended = command(*words)
    assert (ended.exit_code, where in ended.err) == (2, True), ended.err
    assert (path.read_bytes(), ward.files()) == (before, {})


def test_a_file_that_is_there_is_not_written_over_and_a_section_only_after_a_yes(ward, command):
    ward.out.write_text("mine")
    assert command(*MASK, "--out", str(ward.out), "--yes").exit_code == 2
    assert ward.out.read_text() == "mine"
    assert Ledger(ward.state).entries() == ()
    other = ("mask", "--confidential", "income", "--tell", "sex", "--tell", "children")
    site = ward.folder / "site.toml"
    children = re.sub(r'(name = "children"[\s\S]*?sensitive = )true', r"\1false", site.read_text())
    site.write_text(children)
    assert command(*other).exit_code == 2
    assert load_site(site).file.mask.unchanged == ("sex",)
    assert command(*other, "--yes").exit_code == 0
    assert load_site(site).file.mask.unchanged == ("sex", "children")


def test_a_sensitive_column_is_never_told(ward, command):
    site = ward.folder / "site.toml"
    before = site.read_bytes()
    ended = command(*MASK, "--tell", "state", "--out", str(ward.out), "--yes")
    assert (ended.exit_code, "(config-invalid)" in ended.err) == (2, True)
    assert (site.read_bytes(), ward.out.exists()) == (before, False)


def test_what_protects_a_release_stays_unless_it_is_named(ward, command):
    KeyStore(ward.state).create("draw", os.urandom)
    site = ward.folder / "site.toml"

    def shared():
        return load_site(site).file.share_model

    assert command(*TREE, "--k", "20", "--yes").exit_code == 0
    site.write_text(site.read_text().replace("k = 20.0", "k = 20.0, c = 1e6, l = 2", 1))
    # Whether a tree meets this is another question: the section is written before it is learned.
    command(*TREE, "--yes")
    assert (shared().required.k, shared().required.c) == (20, 1e6)
    command("share-model", "--k", "15", "--yes")
    assert (shared().required.k, shared().required.l) == (15, 2)
    assert command("share-model", "--epsilon", "0.5", "--yes").exit_code == 0
    assert (shared().private.epsilon, shared().requirement) == (0.5, None)
    assert command(*TREE, "--yes").exit_code == 0
    assert (shared().private.epsilon, shared().requirement) == (0.5, None)
    assert command("share-model", "--k", "20", "--yes").exit_code == 0
    assert (shared().required.k, shared().private) == (20, None)


def test_a_mask_keeps_its_bounds_when_its_columns_change(ward, command):
    site = ward.folder / "site.toml"
    assert command(*MASK, "--yes").exit_code == 0
    site.write_text(site.read_text().replace("[mask]", "[mask]\nmax_leverage = 0.4", 1))
    assert command("mask", "--confidential", "income", "--yes").exit_code == 0
    mask = load_site(site).file.mask
    assert (mask.confidential, mask.max_leverage) == (("income",), 0.4)


def test_each_file_has_a_line_of_its_own_and_a_folder_is_there(ward, command):
    for name in ("a.csv", "b.csv"):
        (ward.folder / name).mkdir()
    places = [ward.folder / "a.csv" / "x.csv", ward.folder / "b.csv" / "x.csv"]
    for place in places:
        assert command(*MASK, "--out", str(place), "--yes").exit_code == 0
    before = Ledger(ward.state).entries()
    assert [entry.miner for entry in before] == [f"{FILE}{place.resolve()}" for place in places]
    ended = command("mask", "--out", str(ward.folder / "none" / "x.csv"), "--yes")
    assert (ended.exit_code, "(option-invalid)" in ended.err) == (2, True)
    assert Ledger(ward.state).entries() == before


def test_columns_of_a_block_are_not_masked(ward, command):
    site = ward.folder / "site.toml"
    block = '\n[[blocks]]\nvariables = ["income", "sex"]\n'
    block += 'channel = { kind = "gamma-diagonal", gamma = 9.0 }\n'
    site.write_text(site.read_text() + block)
    before = site.read_bytes()
    ended = command(*MASK, "--out", str(ward.out), "--yes")
    assert (ended.exit_code, "(option-invalid)" in ended.err) == (2, True)
    assert (site.read_bytes(), ward.out.exists()) == (before, False)


def test_the_rows_of_a_file_are_not_in_the_order_of_pseudonyms(ward, command):
    """Else the rows of owners with one linkage secret would be those of the same people."""
    KeyStore(ward.state).create("linkage", os.urandom)
    assert command(*MASK, "--out", str(ward.out), "--yes").exit_code == 0
    written = [line.split(",")[0] for line in ward.out.read_text().split()[1:]]
    ids, sexes = [row[0] for row in ROWS], [row[1] for row in ROWS]
    order = key_order(pseudonyms(KeyStore(ward.state).load(), "", ids))
    assert sorted(written) == sorted(sexes)
    assert written not in (sexes, [sexes[place] for place in order])

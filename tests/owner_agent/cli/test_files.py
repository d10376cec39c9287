"""`mask` and `share-model` after `init` alone: asked, written into a file, and in the ledger."""

import csv
import hashlib
import io
import json

import pytest

from owner_agent.cli import options, releasing
from owner_agent.release.ledger import FILE, Ledger
from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore
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
    assert (entry.miner, entry.state, entry.records) == (f"{FILE}released", "sealed", len(ROWS))
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
    assert command(*other).exit_code == 2
    assert load_site(ward.folder / "site.toml").file.mask.told == ("sex",)
    assert command(*other, "--yes").exit_code == 0
    assert load_site(ward.folder / "site.toml").file.mask.told == ("sex", "children")


def test_a_requirement_that_no_split_meets_is_changed_by_an_option(ward, command):
    refused = command(*TREE, "--k", "200", "--out", str(ward.out), "--yes")
    assert (refused.exit_code, "(requirement-unmet)" in refused.err) == (2, True)
    assert not ward.out.exists()
    ended = command("share-model", "--k", "5", "--out", str(ward.out), "--yes")
    assert ended.exit_code == 0, ended.err
    file = load_site(ward.folder / "site.toml").file
    assert (file.share_model.required.k, file.share_model.missing) == (5, "refuse")
    assert file.share_model.attributes[-1].missing == "?"
    assert json.loads(ward.out.read_text())["requirement"]["k"] == 5


def test_columns_of_the_studys_plan_are_not_released_in_another_form(ward, command):
    path = ward.folder / "site.toml"
    path.write_text(path.read_text() + '\n[study_plan]\nfile = "plan.json"\n')
    before = path.read_bytes()
    for words in (MASK, TREE):
        ended = command(*words, "--out", str(ward.out), "--yes")
        assert (ended.exit_code, "plan randomizes" in ended.err) == (2, True)
    assert (path.read_bytes(), ward.out.exists()) == (before, False)

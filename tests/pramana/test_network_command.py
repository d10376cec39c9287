"""`pramana network`: what it prints, what it writes, what it ends with."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from pramana.cli import main
from pramana_core.domain import Domain
from pramana_core.learn.networks.bif import read_bif, write_bif
from pramana_core.learn.networks.documents import read_network_json, write_network_json
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink

NET = BayesNet(
    Domain.of(**{"a=b": ["x", "y"], "c": ["u=1", "v", "[w]"]}),
    Structure.of({"a=b": [], "c": ["a=b"]}),
    {"a=b": np.array([0.25, 0.75]), "c": np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])},
)
LINKS = (LearnedLink("a=b", "c", 12.25, math.inf, 0.87, False),)


class Ended(NamedTuple):
    """How a command ended."""

    exit_code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `pramana network` with these words."""

    def call(*words: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["pramana", "network", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "100")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        code, captured = ended.value.code, capsys.readouterr()
        return Ended(code if isinstance(code, int) else 1, captured.out, captured.err)

    return call


@pytest.fixture
def bif(tmp_path: Path) -> Path:
    """The network as BIF."""
    (file := tmp_path / "net.bif").write_text(write_bif(NET, "net"))
    return file


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    """The network as JSON with a learned link."""
    (file := tmp_path / "net.json").write_text(write_network_json(NET, LINKS))
    return file


def test_a_query_prints_the_distribution(bif: Path, command: Command):
    words = ("query", bif, "--of", "a=b", "--given", "c=u=1")
    ended = command(*words)
    assert ended.exit_code == 0
    assert ended.out.split("\n")[1].split() == ["x", f"{0.125 / 0.275:.6f}"]
    assert "What is given has probability 0.275." in ended.out
    answer = json.loads(command(*words, "--json").out)
    assert (answer["of"], answer["given"]) == (["a=b"], {"c": "u=1"})
    assert answer["given_probability"] == pytest.approx(0.275)
    assert [row["values"] for row in answer["rows"]] == [{"a=b": "x"}, {"a=b": "y"}]
    assert answer["rows"][1]["probability"] == pytest.approx(0.15 / 0.275)


def test_several_nodes_are_asked_for_jointly(bif: Path, command: Command):
    rows = json.loads(command("query", bif, "--of", "c", "--of", "a=b", "--json").out)["rows"]
    found = {(r["values"]["c"], r["values"]["a=b"]): r["probability"] for r in rows}
    assert len(found) == 6
    assert found["[w]", "y"] == pytest.approx(0.375)
    assert "[w]" in command("query", bif, "--of", "c").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--of", "z"], 2, "unknown-variable"),
        (["--of", "c", "--given", "a=b=z"], 2, "unknown-category"),
        (["--of", "c", "--given", "z=1"], 2, "unknown-variable"),
        (["--of", "c", "--given", "a"], 2, "NODE=CATEGORY"),
        (["--of", "c", "--given", "a=b=x", "--given", "a=b=y"], 2, "twice"),
        (["--of", "c", "--given", "c=v"], 2, "both asked for and given"),
    ],
)
def test_questions_without_an_answer(
    bif: Path, command: Command, words: list[str], code: int, said: str
):
    ended = command("query", bif, *words)
    assert (ended.exit_code, ended.out) == (code, "")
    assert said in ended.err


def test_without_the_extra_a_query_says_what_to_install(
    bif: Path, command: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    ended = command("query", bif, "--of", "c")
    assert ended.exit_code == 4
    assert "pramana[inference]" in ended.err


def test_samples_are_a_csv_of_labels(bif: Path, command: Command, tmp_path: Path):
    out = tmp_path / "records.csv"
    words = ("sample", bif, "--records", "400", "--seed", "7", "--out", out)
    told = json.loads(command(*words, "--json").out)
    assert told == {"out": str(out), "records": 400, "seed": 7}
    with out.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["a=b", "c"]
    assert len(rows) == 400
    assert {row[1] for row in rows} == {"u=1", "v", "[w]"}
    assert not [row for row in rows if row == ["x", "[w]"]], "the network excludes it"
    first = out.read_bytes()
    assert command(*words).exit_code == 0
    assert out.read_bytes() == first
    command("sample", bif, "--records", "400", "--seed", "8", "--out", out)
    assert out.read_bytes() != first


@pytest.mark.parametrize("to", ["bif", "json", "dot", "svg"])
def test_every_format_keeps_what_it_can(learned: Path, command: Command, tmp_path: Path, to: str):
    out = tmp_path / f"out.{to}"
    assert json.loads(command("convert", learned, "--to", to, "--out", out, "--json").out) == {
        "out": str(out),
        "format": to,
    }
    text = out.read_text()
    if to == "bif":
        again = read_bif(text)
        assert again.structure == NET.structure
        assert all(np.array_equal(again.tables[n], NET.tables[n]) for n in NET.tables)
    elif to == "json":
        assert text == learned.read_text()
        assert read_network_json(text).links == LINKS
    elif to == "dot":
        assert '"a=b" -> "c" [label="0.87"' in text
    else:
        assert text.startswith("<svg ")
        assert "confidence 87 %" in text
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_standard_output_is_a_place_to_write_to(
    learned: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    ended = command("convert", learned, "--to", "json", "--out", "-")
    assert (ended.exit_code, ended.out) == (0, learned.read_text())
    drawn = command("sample", learned, "--records", "30", "--out", "-")
    command("sample", learned, "--records", "30", "--out", "records.csv")
    assert drawn.out == (tmp_path / "records.csv").read_bytes().decode()
    (tmp_path / "records.csv").unlink()
    both = command("convert", learned, "--to", "json", "--out", "-", "--json")
    assert (both.exit_code, both.out) == (2, "")
    assert "--json" in both.err
    assert sorted(tmp_path.iterdir()) == before


def test_show_tells_nodes_and_links(learned: Path, bif: Path, command: Command):
    ended = command("show", learned)
    assert ended.exit_code == 0
    assert "2 nodes, 1 links, 5 free parameters." in ended.out
    assert ended.out.rstrip().split("\n")[-1].split() == ["a=b", "c", "12.2", "inf", "87%", "open"]
    told = json.loads(command("show", learned, "--json").out)
    assert told["free_parameters"] == 5
    assert told["nodes"][1] == {"name": "c", "categories": ["u=1", "v", "[w]"], "parents": ["a=b"]}
    assert told["links"][0]["inflation"] is None
    assert json.loads(command("show", bif, "--json").out)["links"] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), (b"\xff\xfe\x00", "not text"), (b"{}", "JSON"), (b"what", "BIF")],
)
def test_files_that_hold_no_network(
    command: Command, tmp_path: Path, content: bytes | None, said: str
):
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    ended = command("show", file)
    assert (ended.exit_code, ended.out) == (2, "")
    assert "error (input-invalid)" in ended.err
    assert said in ended.err


def test_what_cannot_be_written_is_refused(bif: Path, command: Command, tmp_path: Path):
    nowhere = tmp_path / "none" / "x"
    for words in (["convert", bif, "--to", "bif"], ["sample", bif, "--records", "1"]):
        ended = command(*words, "--out", nowhere)
        assert ended.exit_code == 2
        assert "cannot be written" in ended.err
    ended = command("sample", bif, "--records", "0", "--out", tmp_path / "x.csv")
    assert ended.exit_code == 2
    assert not (tmp_path / "x.csv").exists()
    assert command("convert", bif, "--to", "pdf", "--out", tmp_path / "x").exit_code == 2


def test_a_network_that_the_library_saved_is_read(command: Command, tmp_path: Path):
    import pramana as pm

    plan = pm.Plan.unrandomized(pm.Domain.of(a=["x", "y"], b=["x", "y"]))
    net = pm.BayesNet([("a", "b")]).fit({"a": list("xxyy"), "b": list("xyyy")}, plan)
    net.save(tmp_path / "net.json")
    ended = command("convert", tmp_path / "net.json", "--to", "bif", "--out", "-")
    assert ended.exit_code == 0, ended.err
    assert read_bif(ended.out).structure.links == (("a", "b"),)

"""`owner-agent predict`: classes by rules written out here, for whoever's table, told to nobody."""

import csv
import json
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

from owner_agent.cli.main import build
from owner_agent.site.table_source import TableSource
from owner_agent.state.environment import Environment
from owner_agent.table.predicting import RecordSource, predict, read_model
from pramana_core.domain import Domain, Variable
from pramana_core.errors import InputError
from pramana_core.learn.common.options import LinearOptions, TreeOptions
from pramana_core.learn.learners import LINEAR, TREE
from pramana_core.learn.linear.columns import Column
from pramana_core.learn.linear.model import LinearClassifier, Plane, Weight
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.terminal import run
from pramana_core.wire.models import DecisionTreeMessage
from pramana_core.wire.privacy import AmplificationMessage

AGE = ("<30", "30-45", "45-60", ">=60")
REGION = Variable("region", ("east", "north", "south"))
ILL = Variable("ill", ("no", "maybe", "yes"))


def leaf(*probabilities):
    nothing = (0.0,) * len(probabilities)
    return Node(NodeClasses(*(nothing,) * 5, 1.0, 0.0, probabilities))


def split(attribute, *children):
    whole = leaf(0.5, 0.25, 0.25).classes
    return Node(whole, Split(attribute, 0.1, 0.1, 0.0, 0.2, 0.0, 9.0, 1, 1, 0.001), children)


def tree(ages=AGE):
    """Young: no. From 30 on: by the region. From 60 on and missing: yes."""
    by_region = split("region", leaf(0.7, 0.2, 0.1), leaf(0.1, 0.8, 0.1), leaf(0.2, 0.1, 0.7))
    missing = [leaf(0.0, 0.25, 0.75)] * (len(ages) - 4)
    root = split("age", leaf(0.9, 0.1, 0.0), by_region, by_region, leaf(0.0, 0.25, 0.75), *missing)
    inputs = Domain((Variable("age", ages), REGION))
    return DecisionTree(inputs, ILL, root, 100, TreeOptions())


def told(age, region):
    """The tree once more, as a rule."""
    if not age or age >= 60:
        return "yes"
    if age < 30:
        return "no"
    return {"north": "maybe", "south": "yes", "east": "no"}[region]


def linear(loss="logistic"):
    inputs = Domain((Variable("smoker", ("yes", "no")), REGION))
    columns = (
        Column("smoker", "smoker=yes", (1.0, 0.0)),
        Column("region", "region=north", (0.0, 1.0, 0.0)),
    )
    weights = (Weight("(intercept)", -1.0), Weight("smoker=yes", 2.0), Weight("region=north", -1.5))
    target = Variable("ill", ("no", "yes"))
    options = LinearOptions(loss=loss)
    return LinearClassifier(inputs, target, columns, (Plane("yes", weights),), options, "cells", 9)


RECORDS = [
    (17, "north"),
    (30, "north"),
    (44.5, "south"),
    (59, "east"),
    (60, "south"),
    (29.9, "east"),
]


def table(records=RECORDS, head="id,age,region"):
    return head + "\n" + "".join(f"Zq{i}P,{a},{r}\n" for i, (a, r) in enumerate(records))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tree.json").write_text(TREE.write(tree()))
    (tmp_path / "missing.json").write_text(TREE.write(tree((*AGE, "?"))))
    (tmp_path / "linear.json").write_text(LINEAR.write(linear()))
    (tmp_path / "hard.json").write_text(LINEAR.write(linear("perceptron")))
    (tmp_path / "table.csv").write_text(table())
    return tmp_path


@pytest.fixture
def called(monkeypatch, capsys):
    """Run the command as a person would; returns the exit code, output and errors."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["owner-agent", "predict", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "100")
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run(build(Environment()))
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_labels_and_numbers_find_their_classes(folder, called):
    code, out, _ = called(folder / "tree.json", folder / "table.csv", "--record-id", "id")
    written = folder / "table.csv.tree.predictions.csv"
    assert code == 0
    assert str(written) in out.replace("\n", "")
    found = rows(written)
    assert [(row["id"], row["ill"]) for row in found] == [
        (f"Zq{i}P", told(*record)) for i, record in enumerate(RECORDS)
    ]
    shares = [[float(row[f"ill={label}"]) for label in ILL.categories] for row in found]
    assert shares[1] == [0.1, 0.8, 0.1]
    assert shares[4] == [0.0, 0.25, 0.75]
    assert written.stat().st_mode & 0o777 == 0o600


def test_predictions_of_a_folder_have_a_plain_name(folder, called):
    columns = {"id": ["a", "b"], "age": [17, 60], "region": ["north", "south"]}
    (folder / "ward").mkdir()
    for name in ("1", "2"):
        pa.parquet.write_table(pa.table(columns), folder / "ward" / f"{name}.parquet")
    assert called(folder / "tree.json", folder / "ward" / "*.parquet")[0] == 0
    assert sorted(one.name for one in (folder / "ward").iterdir()) == [
        "1.parquet",
        "2.parquet",
        "all.parquet.tree.predictions.csv",
    ]


def test_a_table_without_ids_and_columns(folder, called):
    path, out = folder / "misspelt.csv", folder / "out.csv"
    path.write_text(table(head="id,age,Region"))
    code, said, _ = called(folder / "tree.json", path, "--out", out, "--json")
    assert code == 0
    answer = json.loads(said)
    assert (answer["target"], answer["records"], answer["lacking"]) == ("ill", 6, ["region"])
    assert sum(answer["predicted"].values()) == 6
    assert answer["file"] == str(out)
    assert [row["row"] for row in rows(out)] == ["1", "2", "3", "4", "5", "6"]
    # A tree that asks for the age alone misses no region.
    by_age = split("age", *[leaf(0.9, 0.1, 0.0)] * 4)
    alone = DecisionTree(tree().inputs, ILL, by_age, 100, TreeOptions())
    (folder / "age.json").write_text(TREE.write(alone))
    assert json.loads(called(folder / "age.json", path, "--json")[1])["lacking"] == []


def test_a_linear_classifier_and_labels_in_another_order(folder, called):
    path, out = folder / "more.csv", folder / "out.csv"
    path.write_text("region,x,smoker\nnorth,1,yes\nsouth,2,yes\neast,3,no\n")
    assert called(folder / "linear.json", path, "--out", out)[0] == 0
    # Scores -1 + 2 - 1.5, -1 + 2 and -1; the logistic function of each.
    found = rows(out)
    assert [row["ill"] for row in found] == ["no", "yes", "no"]
    expected = [0.3775406687981454, 0.7310585786300049, 0.2689414213699951]
    assert [float(row["ill=yes"]) for row in found] == pytest.approx(expected, abs=1e-12)
    # A perceptron has no probabilities.
    assert called(folder / "hard.json", path, "--out", folder / "hard.csv")[0] == 0
    assert set(rows(folder / "hard.csv")[0]) == {"row", "ill"}


def test_columns_and_cells_may_be_missing(folder, called):
    """A table without ages, one without any input, and one that has half its cells."""
    (folder / "no-age.csv").write_text("id,region\na,north\nb,\n")
    assert called(folder / "tree.json", folder / "no-age.csv", "--out", folder / "o.csv")[0] == 0
    # Equal shares of the leaves: of the four ages, and for b of the regions within two of them.
    assert [row["ill"] for row in rows(folder / "o.csv")] == ["maybe", "no"]
    (folder / "none.csv").write_text("id,other\na,north\n")
    assert called(folder / "tree.json", folder / "none.csv")[0] == 2
    (folder / "holes.csv").write_text("smoker,region\nyes,\n")
    assert called(folder / "linear.json", folder / "holes.csv")[0] == 2


def test_a_model_as_the_miner_answers_it(folder):
    document = json.loads((folder / "tree.json").read_text())
    model = DecisionTreeMessage(
        id="m1", study="s", job="j", records=100, created="2031-05-06T07:08:09Z",
        releases={"s.r": "0" * 64}, document=document,
        told=AmplificationMessage(epsilon=None, gamma=None, grows_to=1.0),
        spec={"kind": "decision-tree", "target": "ill", "attributes": ["age", "region"]},
    )  # fmt: skip
    (folder / "miner.json").write_text(model.model_dump_json())
    assert read_model(folder / "miner.json") == read_model(folder / "tree.json")


def test_a_parquet_table_in_several_pieces(folder):
    ages, regions = zip(*RECORDS, strict=True)
    columns = {"age": pa.array(ages, pa.float64()), "region": pa.array(regions).dictionary_encode()}
    pyarrow.parquet.write_table(pa.table(columns), folder / "table.parquet")
    steps = []
    source = RecordSource(TableSource(folder / "table.parquet"))
    model = read_model(folder / "tree.json")
    found = predict(model, source, lambda *step: steps.append(step), at_once=4)
    assert [ILL.categories[code] for code in found.codes] == [told(*r) for r in RECORDS]
    assert found.probabilities.shape == (6, 3)
    assert steps == [(0, 6), (4, 6), (6, 6)]


SITE = """
owner = "clinic"
table = "patients.csv"
record_id = "id"
[[variables]]
name = "age"
column = "years"
cuts = [30, 45, 60]
missing = "?"
sensitive = true
channel = { kind = "symmetric", p = 0.4 }
[[variables]]
name = "region"
categories = ["north", "south", "east"]
sensitive = false
"""


@pytest.fixture
def site(folder):
    (folder / "site.toml").write_text(SITE)
    (folder / "patients.csv").write_text(table([*RECORDS, ("", "north")], head="id,years,region"))
    return folder / "site.toml"


def test_the_site_file_says_how_the_table_is_read(folder, site, called):
    """Its table, ids, columns and missing cells; categories stand in another order there."""
    assert called(folder / "missing.json", "--site", site)[0] == 0
    found = rows(folder / "patients.csv.missing.predictions.csv")
    assert [row["ill"] for row in found] == [told(*r) for r in [*RECORDS, ("", "north")]]
    assert [row["id"] for row in found] == [f"Zq{i}P" for i in range(7)]
    (folder / "new.csv").write_text("id,years\nZq9P,77\n")
    assert called(folder / "missing.json", folder / "new.csv", "--site", site)[0] == 0
    assert [row["id"] for row in rows(folder / "new.csv.missing.predictions.csv")] == ["Zq9P"]
    # A model without a category of missing cells sums over them.
    assert called(folder / "tree.json", "--site", site)[0] == 0
    *known, missing = rows(folder / "patients.csv.tree.predictions.csv")
    assert [row["ill"] for row in known] == [told(*r) for r in RECORDS]
    assert missing["ill"] == "maybe"


def test_unknown_values_are_named_by_row_and_column_and_never_shown(folder, site, called):
    odd = [(17, "Xnorth"), ("Xold", "north"), (44, "south"), (33, "Xwest")]
    (folder / "odd.csv").write_text(table(odd))
    (folder / "patients.csv").write_text(table(odd, head="id,years,region"))
    # The region is not sensitive: the site file's own check would quote it.
    for words in ((folder / "odd.csv", "--record-id", "id"), ("--site", site)):
        code, out, err = called(folder / "missing.json", *words)
        assert code == 2
        assert "record 2" in err
        assert "records 1, 4" in err
        for text in ("Xold", "Xnorth", "Zq"):
            assert text not in out + err
    assert not list(folder.glob("*predictions*"))


def test_what_is_no_model_is_refused(folder):
    (folder / "bad.json").write_text('{"kind": "association-rules"}')
    with pytest.raises(InputError):
        read_model(folder / "bad.json")


def test_what_else_is_refused(folder, called):
    tree_, path = folder / "tree.json", folder / "table.csv"
    (folder / "twice.csv").write_text("id,age,region\nx,1,north\nx,2,north\n,3,north\n")
    (folder / "ill.csv").write_text("ill,age,region\nx,1,north\n")
    (folder / "taken.csv").write_text("mine")
    for words in (
        (folder / "none.json", path),
        (tree_,),
        (tree_, folder / "none.csv"),
        (tree_, path, "--record-id", "no"),
        (tree_, folder / "twice.csv", "--record-id", "id"),
        (tree_, folder / "ill.csv", "--record-id", "ill"),
        (folder / "linear.json", path),
        (tree_, path, "--out", folder / "taken.csv"),
        (tree_, path, "--out", folder / "no" / "o.csv"),
        (tree_, "--site", folder / "none.toml"),
    ):
        assert called(*words)[0] == 2, words
    assert (folder / "taken.csv").read_text() == "mine"
    assert not list(folder.glob("*predictions*"))

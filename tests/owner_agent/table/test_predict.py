"""`owner-agent predict`: classes by rules written out here, for whoever's table, told to nobody."""

import csv
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from owner_agent.table.predicting import InputSource, predict, read_model
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
    assert "'ill' of 6 records by the decision-tree: no: 3, maybe: 1, yes: 2." in out
    assert str(written) in out.replace("\n", "")
    assert rows(written) == [
        {"id": f"Zq{i}P", "ill": told(*record)} for i, record in enumerate(RECORDS)
    ]
    assert written.stat().st_mode & 0o777 == 0o600


def test_without_ids_rows_are_numbered_and_probabilities_stand_beside(folder, called):
    out = folder / "out.csv"
    words = ("--probabilities", "--out", out, "--json")
    code, said, _ = called(folder / "tree.json", folder / "table.csv", *words)
    assert code == 0
    assert json.loads(said) == {
        "kind": "decision-tree", "target": "ill", "records": 6,
        "predicted": {"no": 3, "maybe": 1, "yes": 2}, "lacking": [], "file": str(out),
    }  # fmt: skip
    found = rows(out)
    assert [row["row"] for row in found] == ["1", "2", "3", "4", "5", "6"]
    shares = [[float(row[f"ill={label}"]) for label in ILL.categories] for row in found]
    assert shares[1] == [0.1, 0.8, 0.1]
    assert shares[4] == [0.0, 0.25, 0.75]


def test_columns_that_are_missing_are_named_and_may_be_refused(folder, called):
    path = folder / "misspelt.csv"
    path.write_text(table(head="id,age,Region"))
    code, out, _ = called(folder / "tree.json", path)
    assert code == 0
    assert "no column 'region' (did you mean 'Region'?), which the model uses" in out
    code, out, _ = called(folder / "tree.json", path, "--json")
    assert json.loads(out)["lacking"] == ["region"]
    written = folder / "misspelt.csv.tree.predictions.csv"
    written.unlink()
    code, out, err = called(folder / "tree.json", path, "--all-columns")
    assert code != 0
    assert not written.exists()
    assert "'region' (did you mean 'Region'?)" in " ".join((out + err).split())
    # A tree that asks for the age alone misses no region.
    by_age = split("age", *[leaf(0.9, 0.1, 0.0)] * 4)
    alone = DecisionTree(tree().inputs, ILL, by_age, 100, TreeOptions())
    (folder / "age.json").write_text(TREE.write(alone))
    code, out, _ = called(folder / "age.json", path, "--all-columns", "--json")
    assert (code, json.loads(out)["lacking"]) == (0, [])


def test_a_linear_classifier_and_labels_in_another_order(folder, called):
    path = folder / "more.csv"
    path.write_text("region,x,smoker\nnorth,1,yes\nsouth,2,yes\neast,3,no\n")
    out = folder / "out.csv"
    code, *_ = called(folder / "linear.json", path, "--out", out, "--probabilities")
    assert code == 0
    # Scores -1 + 2 - 1.5, -1 + 2 and -1; the logistic function of each.
    found = rows(out)
    assert [row["ill"] for row in found] == ["no", "yes", "no"]
    expected = [0.3775406687981454, 0.7310585786300049, 0.2689414213699951]
    assert [float(row["ill=yes"]) for row in found] == pytest.approx(expected, abs=1e-12)


def test_columns_and_cells_may_be_missing(folder, called):
    """A table without ages, one without any input, and one that has half its cells."""
    (folder / "no-age.csv").write_text("id,region\na,north\nb,\n")
    code, _, err = called(folder / "tree.json", folder / "no-age.csv", "--out", folder / "o.csv")
    assert code == 0, err
    # Equal shares of the leaves: of the four ages, and for b of the regions within two of them.
    assert [row["ill"] for row in rows(folder / "o.csv")] == ["maybe", "no"]
    (folder / "none.csv").write_text("id,other\na,north\n")
    code, _, err = called(folder / "tree.json", folder / "none.csv", "--out", folder / "p.csv")
    assert code == 2
    assert "has no column of the model's variables 'age', 'region'" in " ".join(err.split())
    (folder / "holes.csv").write_text("smoker,region\nyes,\n")
    assert called(folder / "linear.json", folder / "holes.csv")[0] == 2


def test_a_model_as_the_miner_answers_it(folder, called):
    document = json.loads((folder / "tree.json").read_text())
    model = DecisionTreeMessage(
        id="m1", study="s", job="j", records=100, created="2031-05-06T07:08:09Z",
        releases={"s.r": "0" * 64}, document=document,
        told=AmplificationMessage(epsilon=None, gamma=None, grows_to=1.0),
        spec={"kind": "decision-tree", "target": "ill", "attributes": ["age", "region"]},
    )  # fmt: skip
    (folder / "miner.json").write_text(model.model_dump_json())
    called(folder / "tree.json", folder / "table.csv", "--out", folder / "a.csv")
    called(folder / "miner.json", folder / "table.csv", "--out", folder / "b.csv")
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_a_parquet_table_of_numbers_and_dictionaries(folder, called):
    ages, regions = zip(*RECORDS, strict=True)
    columns = {"age": pa.array(ages, pa.float64()), "region": pa.array(regions).dictionary_encode()}
    pyarrow.parquet.write_table(pa.table(columns), folder / "table.parquet")
    assert called(folder / "tree.json", folder / "table.parquet", "--out", folder / "o.csv")[0] == 0
    assert [row["ill"] for row in rows(folder / "o.csv")] == [told(*r) for r in RECORDS]


def test_many_records_in_several_pieces(folder):
    steps = []
    source = InputSource(folder / "table.csv", "id")
    found = predict(
        read_model(folder / "tree.json"), source, lambda *step: steps.append(step),
        probabilities=True, at_once=4,
    )  # fmt: skip
    assert [ILL.categories[code] for code in found.codes] == [told(*r) for r in RECORDS]
    assert found.probabilities.shape == (6, 3)
    assert steps == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


# With a site file ---------------------------------------------------------------------------------

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
    """Its table, ids, columns, cuts and missing cells; categories stand in another order there."""
    code, out, _ = called(folder / "missing.json", "--site", site)
    written = folder / ".pramana" / "predictions" / "missing.csv"
    assert code == 0
    assert str(written) in out.replace("\n", "")
    found = rows(written)
    assert [row["ill"] for row in found] == [told(*r) for r in [*RECORDS, ("", "north")]]
    assert [row["id"] for row in found] == [f"Zq{i}P" for i in range(7)]
    assert written.stat().st_mode & 0o777 == 0o600
    assert written.parent.stat().st_mode & 0o777 == 0o700
    # Again, of another table: the earlier predictions are replaced.
    (folder / "new.csv").write_text("id,years,region\nZq9P,77,north\n")
    assert called(folder / "missing.json", folder / "new.csv", "--site", site)[0] == 0
    assert rows(written) == [{"id": "Zq9P", "ill": "yes"}]
    assert sorted(p.name for p in (folder / ".pramana").iterdir()) == ["predictions"]


def test_other_categories_than_the_sites_are_read_as_the_model_says(folder, site, called):
    """The model has no category of missing cells: numbers fall into its own intervals.

    A tree sends a record without an age to all children; of the leaves each has an equal share.
    """
    words = (folder / "tree.json", "--site", site)
    code, _, err = called(*words)
    assert code == 0, err
    *known, missing = rows(folder / ".pramana" / "predictions" / "tree.csv")
    assert [row["ill"] for row in known] == [told(*r) for r in RECORDS]
    in_the_north = (0.1, 0.8, 0.1)
    parts = ((0.9, 0.1, 0.0), in_the_north, in_the_north, (0.0, 0.25, 0.75))
    sums = [sum(part[k] for part in parts) for k in range(3)]
    assert missing["ill"] == ("no", "maybe", "yes")[sums.index(max(sums))] == "maybe"
    (folder / "patients.csv").write_text(table(head="id,years,region"))
    assert called(*words)[0] == 0
    found = rows(folder / ".pramana" / "predictions" / "tree.csv")
    assert [row["ill"] for row in found] == [told(*r) for r in RECORDS]


def test_a_variable_that_is_no_part_of_the_site_is_a_column_of_its_name(folder, site, called):
    site.write_text(SITE[: SITE.rindex("[[variables]]")])
    assert called(folder / "missing.json", "--site", site)[0] == 0
    found = rows(folder / ".pramana" / "predictions" / "missing.csv")
    assert [row["ill"] for row in found][:6] == [told(*r) for r in RECORDS]


# What is refused ----------------------------------------------------------------------------------


def test_unknown_values_are_named_by_row_and_column_and_never_told(folder, site, called):
    odd = [(17, "Xnorth"), ("Xold", "north"), (44, "south"), (33, "Xwest")]
    (folder / "odd.csv").write_text(table(odd))
    code, out, err = called(folder / "tree.json", folder / "odd.csv", "--record-id", "id")
    assert code == 2
    assert (
        "Column 'age' holds values of 'age' that the model does not know in 1 row (row 2)." in err
    )
    assert "'region' that the model does not know in 2 rows (rows 1, 4)." in err
    assert "--site" in err
    # The region is not sensitive: the site file's own check would quote it.
    (folder / "patients.csv").write_text(table(odd, head="id,years,region"))
    ended, more, told_too = called(folder / "missing.json", "--site", site)
    assert ended == 2
    assert "rows 1, 4" in told_too
    for text in (out, err, more, told_too):
        assert "Xold" not in text
        assert "Xnorth" not in text
        assert "Zq" not in text
    assert not list(folder.glob("*predictions*"))
    assert not (folder / ".pramana").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("{", "cannot be read as the JSON of a model"),
        ("[" * 200_000, "cannot be read as the JSON of a model"),
        ("[]", "not a model that predicts"),
        ('{"kind": "association-rules"}', "not a model that predicts"),
        ('{"kind": "decision-tree"}', "not a decision tree"),
        ('{"kind": "linear-classifier", "more": 1}', "not a linear classifier"),
    ],
)
def test_what_is_no_model_is_refused(folder, called, content, match):
    (folder / "bad.json").write_text(content)
    with pytest.raises(InputError, match=match):
        read_model(folder / "bad.json")
    code, _, err = called(folder / "bad.json", folder / "table.csv")
    assert code == 2
    assert "error (input-invalid)" in err


def test_what_else_is_refused(folder, site, called):
    tree_, path = folder / "tree.json", folder / "table.csv"
    (folder / "twice.csv").write_text("id,age,region\nx,1,north\nx,2,north\n,3,north\n")
    (folder / "ill.csv").write_text("ill,age,region\nx,1,north\n")
    (folder / "taken.csv").write_text("mine")
    refused = {
        (folder / "none.json", path): (2, "none.json cannot be read as the JSON of a model"),
        (tree_,): (2, "No records are named."),
        (tree_, folder / "none.csv"): (2, "There is no table at"),
        (tree_, path, "--record-id", "no"): (2, "has no column 'no'"),
        (tree_, folder / "twice.csv", "--record-id", "id"): (2, "more than once"),
        (tree_, folder / "ill.csv", "--record-id", "ill"): (2, "would both be called 'ill'"),
        (folder / "linear.json", path): (2, "has no column 'smoker'"),
        (tree_, path, "--out", folder / "taken.csv"): (2, "exists; it was not changed"),
        (tree_, path, "--out", folder / "no" / "o.csv"): (2, "cannot be written"),
        (tree_, "--site", folder / "none.toml"): (2, "cannot be read"),
    }  # fmt: skip
    for words, (code, text) in refused.items():
        ended, _, err = called(*words)
        assert (ended, text in " ".join(err.split())) == (code, True), (words, err)
    assert (folder / "taken.csv").read_text() == "mine"


def test_without_a_site_file_no_remedy_blames_one(folder, called):
    for words in ((folder / "linear.json", folder / "table.csv"), (folder / "tree.json", "no.csv")):
        _, _, err = called(*words)
        told = " ".join(err.split())
        assert "what to do" in told
        assert "site file" not in told.replace("in the site file if you gave one", "")


@pytest.mark.slow
def test_an_open_folder_of_predictions_is_refused(folder, site, called):
    (folder / ".pramana" / "predictions").mkdir(parents=True)
    (folder / ".pramana" / "predictions").chmod(0o755)
    code, _, err = called(folder / "missing.json", "--site", site)
    assert code == 3
    assert "chmod 700" in err


def test_probabilities_of_a_model_that_has_none(folder, called):
    (folder / "more.csv").write_text("region,smoker\nnorth,yes\n")
    words = (folder / "hard.json", folder / "more.csv")
    assert called(*words, "--out", folder / "o.csv")[0] == 0
    code, _, err = called(*words, "--probabilities")
    assert code == 2
    assert "predicts classes, not their probabilities" in err


def test_labels_that_need_quotes_stay_whole(folder):
    label = 'north, "upper"'
    inputs = Domain((Variable("region", ("south", label)),))
    target = Variable("it, too", ("a", 'b "b"'))
    plane = Plane('b "b"', (Weight("(intercept)", -1.0), Weight("x", 2.0)))
    columns = (Column("region", "x", (0.0, 1.0)),)
    model = LinearClassifier(inputs, target, columns, (plane,), LinearOptions(), "cells", 9)
    (folder / "q.json").write_text(LINEAR.write(model))
    with (folder / "q.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["region"], ["south"], [label]])
    source = InputSource(folder / "q.csv")
    found = predict(read_model(folder / "q.json"), source, lambda *_: None, probabilities=False)
    assert list(csv.DictReader(io.StringIO(found.csv().decode()))) == [
        {"row": "1", "it, too": "a"}, {"row": "2", "it, too": 'b "b"'},
    ]  # fmt: skip

"""One table through CSV, Parquet, pandas and Arrow: the same texts, codes and release."""

import csv
import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import pramana as pm
from owner_agent.site.table_source import TableSource
from owner_agent.table.table import column_names, detect, read_table
from pramana.frames.codes import distinct_texts
from pramana_core.errors import EmptyTable, TableError
from pramana_core.spellings import plainest
from tests.owner_agent.table.workbooks import write_workbook

ROWS = 60
DAYS = [dt.date(2020, 1, 31), dt.date(1987, 12, 1), None]
TYPED = {
    "whole": pd.array([1, 20, None] * 20, dtype="Int64"),
    "gaps": [1.0, 20.0, np.nan] * 20,
    "fraction": [0.1, 7.5, np.nan] * 20,
    "single": np.array([0.7, 1e-3, 3.0] * 20, dtype=np.float32),
    "small": pd.array([3, 255, None] * 20, dtype="UInt8"),
    "exact": [Decimal("7.50"), Decimal("7.00"), None] * 20,
    "truth": [True, False, True] * 20,
    "gappy": pd.array([True, None, False] * 20, dtype="boolean"),
    "day": DAYS * 20,
    "moment": pd.to_datetime(["2020-01-31", "2020-01-31 12:30", None] * 20, format="mixed"),
    "midnight": pd.to_datetime(["2020-01-31", "1987-12-01", None] * 20),
    "clock": [dt.time(12, 30), dt.time(0, 0), None] * 20,
    "named": pd.Categorical(["é", "b", "e\u0301"] * 20),
    "text": [" 007 ", "1E5", "1.0"] * 20,
}  # fmt: skip
TEXTS = {
    "whole": ["1", "20", ""], "gaps": ["1", "20", ""], "fraction": ["0.1", "7.5", ""],
    "single": ["0.7", "0.001", "3"], "small": ["3", "255", ""], "exact": ["7.5", "7", ""],
    "truth": ["True", "False", "True"], "gappy": ["True", "", "False"],
    "day": ["2020-01-31", "1987-12-01", ""],
    "moment": ["2020-01-31", "2020-01-31 12:30:00", ""],
    "midnight": ["2020-01-31", "1987-12-01", ""], "clock": ["12:30:00", "00:00:00", ""],
    "named": ["é", "b", "é"], "text": ["007", "1E5", "1.0"],
}  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({"id": range(ROWS), **TYPED})


@pytest.fixture(scope="module")
def readers(frame, tmp_path_factory):
    """The same table as each reader gives it to `pm`."""
    folder = tmp_path_factory.mktemp("readers")
    frame.to_parquet(folder / "t.parquet", index=False)
    frame.to_csv(folder / "pandas.csv", index=False)
    arrow = pa.Table.from_pandas(frame.assign(named=frame["named"].astype(str)))
    pa.csv.write_csv(arrow, folder / "arrow.csv")
    read = {
        name: {
            c: cells.to_pylist()
            for c, cells in read_table(TableSource(folder / name), list(frame)).columns.items()
        }
        for name in ("t.parquet", "pandas.csv", "arrow.csv")
    }
    return {"pandas": frame, "Arrow": arrow, **read}


@pytest.mark.parametrize("name", TYPED)
def test_a_value_has_one_text_in_every_reader(readers, name):
    expected = TEXTS[name]
    places, texts = distinct_texts(readers["pandas"][name], "it")
    assert [texts[place] for place in places[:3]] == expected
    arrow = pm.domain(
        readers["Arrow"], pm.observed_categories(readers["Arrow"], [name]), columns=[name]
    )
    assert set(arrow[name].categories) == {text or "(empty)" for text in expected}
    assert readers["t.parquet"][name][:3] == expected
    for file in ("pandas.csv", "arrow.csv"):
        # A CSV file holds text already: of a number it may have other zeros, of a truth other case.
        assert [plainest(text).lower() for text in readers[file][name][:3]] == [
            plainest(text).lower() for text in expected
        ]


def test_one_release_comes_of_every_reader(readers):
    listed = {
        name: list(dict.fromkeys(text or "(empty)" for text in texts))
        for name, texts in TEXTS.items()
    }
    domain = pm.domain(readers["pandas"], listed, columns=list(listed))
    plan, keys = pm.plan(domain, p=0.2), pm.Keys.for_experiments(1)
    digests = {
        name: pm.randomize(table, plan, keys, record_id="id").digest
        for name, table in ((n, pm_table(t)) for n, t in readers.items())
    }
    assert len(set(digests.values())) == 1, digests


def pm_table(table):
    return table.to_pandas() if isinstance(table, pa.Table) else table


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("id,a,\n1,2\n2,3\n", "Line 2"),
        ("id,a\n1,2\nTotal: 1\n", "Line 3"),
        ("Visits of 2024\n\nid;a;b\n1;2;3\n2;3;4\n", "has 1 filled cells"),
        ("Visits;of 2024\nid;a;b\n1;2;3\n2;3;4\n", "Line 2"),
        ('id,a\n1,"x\ny"\n2,3\n4,5,6\n', "Line 5"),
        ("id,a\n1,\xe9\n".encode("latin-1"), "Line 2, column 2"),
        ("id,a\n1,x\n2,\xe9\n".encode("cp1252"), "Line 3, column 2"),
        ('id,a,b\n1,x,y\n2,"x,y\n3,x,y\n', "line 3, column 2"),
        ('id,a\n1,x\n2,"y\n3,z\n', "line 3, column 2"),
        ('id,a\n1,"x"y\n2,"x\ny"z"\n', "line 2, column 2"),
        ('id, a, b\n1, "x, y", 2\n2, "x, y\n3, z, 4\n', "line 3, column 2"),
        ("id;a\r\n1;2\r\n2;3;4\r\n".encode("utf-16"), "Line 3"),
        ("sep=;\nid;a\n1;2;3\n", "Line 3"),
        ("Visits of 2024;;\n;;\nid;a;b\n1;2;3\n", "has 1 filled cells"),
        (b"PK\x03\x04\x00\x00\n\xff\n", ".xlsx"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line_and_column(tmp_path, content, says):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TableError) as raised:
        read_table(TableSource(path), column_names(TableSource(path)))
    assert says in raised.value.message
    assert raised.value.where == str(path)


ROWS_OF_A_WARD = [
    ("id", "größe", "b", "note"),
    ("1", "1,5", "é", "x; y, z"),
    ("2", "1.234,5", "z", 'two\n"lines"'),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [";", "\t", ",", "|"])
def test_a_csv_as_people_have_it_is_one_table(tmp_path, encoding, end, separator):
    path = tmp_path / "T.CSV"
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator=end).writerows(ROWS_OF_A_WARD)
    path.write_bytes(text.getvalue().encode(encoding))
    source = detect(path)
    assert (source.decimal_commas, column_names(source)) == (("größe",), list(ROWS_OF_A_WARD[0]))
    columns = read_table(source, ["größe", "b", "note"]).columns
    assert {name: cells.to_pylist() for name, cells in columns.items()} == {
        "größe": ["1.5", "1234.5"], "b": ["é", "z"], "note": ["x; y, z", 'two\n"lines"'],
    }  # fmt: skip


def test_decimal_commas_are_of_their_column_alone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id;income;code;rate\n12.345.100;1000,50;1.001;0.125\n12.345.101;2.500,5;1.002;0.250\n"
    )
    source = detect(path)
    columns = read_table(source, column_names(source)).columns
    assert {name: cells.to_pylist() for name, cells in columns.items()} == {
        "id": ["12.345.100", "12.345.101"], "income": ["1000.50", "2500.5"],
        "code": ["1.001", "1.002"], "rate": ["0.125", "0.250"],
    }  # fmt: skip


@pytest.mark.parametrize(("bad", "found"), [(1, ("income",)), (2, ())])
def test_a_column_of_decimal_commas_may_have_one_bad_cell_in_ten(tmp_path, bad, found):
    path = tmp_path / "t.csv"
    path.write_text("income\n" + "1000,5\n" * (10 - bad) + "none\n" * bad)
    assert detect(path, separator=";").decimal_commas == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('id, a, b\n1, "x, y", 2\n2, z, 3\n', {"id": "12", "a": ["x, y", "z"], "b": "23"}),
        (",a,a\n0,x,1\n1,y,2\n", {"column 1": "01", "a (1)": "xy", "a (2)": "12"}),
        ("sep=|\nid|a;b\n1|x\n2|y\n", {"id": "12", "a;b": "xy"}),
        ("id;sex (1=m, 2=w, 3=d)\n1;2\n2;1\n", {"id": "12", "sex (1=m, 2=w, 3=d)": "21"}),
        ('"id";"two\nlines"\n1;2\n\n2;1\n', {"id": "12", "two\nlines": "21"}),
        ('id,price\n1,"1,234"\n2,"2,000"\n', {"id": "12", "price": ["1,234", "2,000"]}),
    ],
)
def test_headers_and_cells_as_programs_write_them(tmp_path, text, expected):
    path = tmp_path / "t.csv"
    path.write_text(text)
    source = detect(path)
    columns = read_table(source, column_names(source)).columns
    assert {name: cells.to_pylist() for name, cells in columns.items()} == {
        name: list(cells) for name, cells in expected.items()
    }


def test_of_dates_only_years_are_read_where_the_source_says_so(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id,born\n1,31.01.1980\n2,1990-2-1 12:30\n3,5/6/2001\n4,\n5,2001\n6,soon\n7,00.00.0000\n"
    )
    columns = read_table(TableSource(path, dates_as_years=("born",)), ["id", "born"]).columns
    assert columns["born"].to_pylist() == ["1980", "1990", "2001", "", "2001", "soon", ""]


def test_a_workbook_is_read_as_its_csv_is(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    rows = [
        ["id", "PLZ", "BMI", "seen", "BMI"],
        [1, "01067", 22.5, dt.date(2020, 1, 31), True],
        [2, "10115", None, dt.date(1999, 12, 1), False],
    ]
    write_workbook(path, rows)
    source = detect(path)
    columns = read_table(source, column_names(source)).columns
    assert {name: cells.to_pylist() for name, cells in columns.items()} == {
        "id": ["1", "2"], "PLZ": ["01067", "10115"], "BMI (1)": ["22.5", ""],
        "seen": ["2020-01-31", "1999-12-01"], "BMI (2)": ["True", "False"],
    }  # fmt: skip
    for wrong in ([], [["Visits of 2024", None, None], ["id", "a", "b"], [1, 2, 3]]):
        write_workbook(path, wrong)
        with pytest.raises(TableError):
            column_names(TableSource(path))
    path.write_bytes(b"id,a\n1,2\n")
    with pytest.raises(TableError) as raised:
        column_names(TableSource(path))
    assert raised.value.where == str(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_csv_of_any_marked_encoding_and_line_end_is_one_table(tmp_path, encoding, end):
    path = tmp_path / "t.csv"
    path.write_bytes(f'id, größe ,b{end}1, é ,"x, y"{end}2,z,{end}'.encode(encoding))
    assert column_names(TableSource(path)) == ["id", "größe", "b"]
    read = read_table(TableSource(path), ["größe", "b"])
    assert {name: cells.to_pylist() for name, cells in read.columns.items()} == {
        "größe": ["é", "z"], "b": ["x, y", ""],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "kind"), [([["a"], ["b"]], "lists"), ([{"a": 1}, {"a": 2}], "records")]
)
def test_a_column_without_single_values_is_called_by_its_name(tmp_path, cells, kind):
    frame = pd.DataFrame({"id": range(40), "sex": ["f", "m"] * 20, "drugs": cells * 20})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    with pytest.raises(TableError) as raised:
        read_table(TableSource(tmp_path / "t.parquet"), ["id", "drugs"])
    assert (raised.value.where, kind in raised.value.message) == ("drugs", True)
    for table in (frame, pa.Table.from_pandas(frame)):
        with pytest.raises(pm.TableError) as refused:
            pm.domain(table, {"drugs": ["a", "b"]}, columns=["drugs"])
        assert "drugs" in str(refused.value)
        found = pm.observed_categories(table)
        assert list(found) == ["sex"]
        assert "drugs" in found.left_out


def test_a_table_that_is_not_there_or_empty_is_said_to_be(tmp_path):
    with pytest.raises(TableError):
        column_names(TableSource(tmp_path / "none.csv"))
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(EmptyTable):
        column_names(TableSource(tmp_path / "t.csv"))


def test_a_quotation_mark_that_is_never_closed_is_no_empty_table(tmp_path):
    (tmp_path / "t.csv").write_text('id,"a\n1,x\n2,y\n')
    with pytest.raises(TableError) as raised:
        column_names(TableSource(tmp_path / "t.csv"))
    assert "line 1, column 2" in raised.value.message
    (tmp_path / "t.csv").write_text("id,a")
    with pytest.raises(EmptyTable):
        column_names(TableSource(tmp_path / "t.csv"))

"""Tables of every format read alike, and each defect is told by column and rows only."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from owner_agent.site.planning import planned
from owner_agent.site.table_source import TableSource
from owner_agent.table.encode import encode, inspect
from owner_agent.table.table import read_table
from pramana_core.errors import DuplicateRecordId, MissingColumn, TableError, UnknownCategory

HEAD = "patient_id,smokes,age,region\n"
MANY = "".join(f"{i},{('no', 'SECRET')[i % 2]},3,north\n" for i in range(20))


def _encode(bench, rows):
    bench.write(table=HEAD + rows)
    return encode(bench.site, planned(bench.site))


def test_cells_become_codes(bench):
    made = _encode(
        bench,
        "001,no,29.9,north\n 002 , yes ,30,south\n3,yes,45,east\n4,yes,59.99,east\n"
        "5,no,60,east\n6,no,,east\n7,no,?,east\n8,no,-1e1,east\n",
    )
    assert made.record_ids == ["001", "002", "3", "4", "5", "6", "7", "8"]
    assert made.columns["smoker"].tolist() == [0, 1, 1, 1, 0, 0, 0, 0]
    assert made.columns["age"].tolist() == [0, 1, 2, 2, 3, 4, 4, 0]
    assert made.columns["region"].tolist() == [0, 1, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("error", "rows", "where", "named"),
    [
        (UnknownCategory, "1,no,30,north\n2,SECRET,30,north\n", "smokes", "1 record (record 2)"),
        (UnknownCategory, "1,no,30,north\n2,no,30,SECRET\n", "region", "1 record (record 2)"),
        (UnknownCategory, MANY, "smokes", "10 records (records 2, 4, 6, 8, 10, ...)"),
        (TableError, "1,no,30,north\n2,,30,north\n3,  ,30,north\n", "smokes", "records 2, 3"),
        (DuplicateRecordId, "SECRET-1,no,3,north\nX,no,3,north\n SECRET-1,no,1,north\n",
         "patient_id", "2 records (records 1, 3)"),
        (TableError, "1,no,30,north\n,no,30,north\n  ,no,30,north\n", "patient_id",
         "records 2, 3"),
        *((TableError, f"1,no,30,north\n2,no,{cell},north\n", "age", "1 record (record 2)")
          for cell in ("SECRET", "1_0", "nan", "inf", "1e999", "0x10", "٣")),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_column_and_row_and_not_by_value(bench, error, rows, where, named):
    before = bench.files()
    with pytest.raises(error) as raised:
        _encode(bench, rows)
    assert (type(raised.value), raised.value.where) == (error, where)
    assert named in raised.value.message
    assert "SECRET" not in str(raised.value)
    assert bench.files() == before


@pytest.mark.parametrize(
    ("rows", "line"),
    [("1,no,30,north\n2,SECRET,30,north", 2), ("1,no,30,north\n\n2,SECRET,30,north\n", None),
     ('1,"no\n",30,north\n2,SECRET,30,north\n', None)],
)  # fmt: skip
def test_the_line_of_the_first_record_is_named_only_if_each_record_is_one_line(bench, rows, line):
    with pytest.raises(UnknownCategory) as raised:
        _encode(bench, rows)
    assert ("Record 1 is line" in str(raised.value)) == (line is not None)
    assert (f"is line {line} of" in str(raised.value)) == (line is not None)


def test_every_problem_is_found_at_once(bench):
    bench.write(table=HEAD + "1,no,x,north\n1,maybe,30,West\n,no,30,east\n")
    found = inspect(bench.site, planned(bench.site))
    assert [p.code for p in found.problems] == [
        "table-invalid", "record-id-duplicate", "unknown-category", "table-invalid",
        "unknown-category",
    ]  # fmt: skip
    with pytest.raises(TableError):
        encode(bench.site, planned(bench.site))


def test_missing_columns_are_all_named(bench):
    bench.write(table="patient_id,Smokes,years\n1,no,30\n")
    with pytest.raises(MissingColumn) as raised:
        encode(bench.site, planned(bench.site))
    assert raised.value.where == "smokes, age, region"


@pytest.mark.parametrize(
    "content",
    [
        HEAD + "1,no,30,north\n2,no,30,SECRET,x\n",
        HEAD + "1,no,30\n",
        "patient_id,smokes,smokes,age,region\n1,no,no,3,north\n",
    ],
)
def test_a_ragged_table_is_refused(bench, content):
    bench.write(table=content)
    with pytest.raises(TableError) as raised:
        encode(bench.site, planned(bench.site))
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,\xff\xfe\n"), ("t.csv.gz", b"a,b\n1,2\n"), ("t.parquet", b"a,b\n1,2\n")],
)
def test_a_file_that_is_not_what_its_name_says(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError) as raised:
        read_table(TableSource(tmp_path / name), ["a", "b"])
    assert raised.value.__suppress_context__


def test_an_infinite_number_in_parquet_is_refused_by_its_row(bench):
    table = pa.table(
        {
            "patient_id": ["1", "2", "3"], "smokes": ["no", "yes", "no"],
            "age": [45.0, float("inf"), float("-inf")], "region": ["north"] * 3,
        }
    )  # fmt: skip
    pq.write_table(table, bench.folder / "patients.parquet")
    bench.write((bench.folder / "site.toml").read_text().replace(".csv", ".parquet"))
    with pytest.raises(TableError):
        encode(bench.site, planned(bench.site))

"""Tables of every format read alike, and each defect is told by column and rows only."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from owner_agent.site.planning import planned
from owner_agent.table.encode import encode, inspect
from owner_agent.table.table import read_table
from pramana_core.errors import (
    DuplicateRecordId,
    MissingColumn,
    MissingRecordId,
    TableError,
    TableUnreadable,
    UnknownCategory,
)

HEAD = "patient_id,smokes,age,region\n"


def _encode(bench, rows):
    bench.write(table=HEAD + rows)
    return encode(bench.site, planned(bench.site))


def _refused(bench, error, rows):
    before = bench.files()
    with pytest.raises(error) as raised:
        _encode(bench, rows)
    assert type(raised.value) is error
    assert bench.files() == before
    return str(raised.value)


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


def test_an_unknown_category_of_a_sensitive_column_is_not_shown(bench):
    rows = "".join(f"{i},{'SECRETIVE' if i % 2 else 'no'},30,north\n" for i in range(20))
    text = _refused(bench, UnknownCategory, rows)
    assert "'smokes' of variable 'smoker' holds values that are not its categories" in text
    assert "10 rows (rows 2, 4, 6, 8, 10, ...)" in text
    assert "SECRETIVE" not in text


def test_an_unknown_category_of_a_public_column_is_shown(bench):
    text = _refused(bench, UnknownCategory, "1,no,30,north\n2,no,30,West\n")
    assert "1 row (row 2): 'West'" in text
    assert "add the category" in text


def test_missing_cells_need_a_category(bench):
    text = _refused(bench, TableError, "1,no,30,north\n2,,30,north\n3,  ,30,north\n")
    assert "'smokes' of variable 'smoker' is empty in 2 rows (rows 2, 3)" in text
    assert "missing =" in text


@pytest.mark.parametrize("cell", ["old", "1_0", "nan", "inf", "1e999", "0x10", "٣"])
def test_what_is_no_number_is_told_by_rows(bench, cell):
    text = _refused(bench, TableError, f"1,no,30,north\n2,no,{cell},north\n")
    assert "'age' of variable 'age' is cut into intervals but holds no finite number" in text
    assert "1 row (row 2)" in text
    assert f"number in 1 row (row 2){cell}" not in text
    assert f"'{cell}'" not in text


def test_duplicate_record_ids_are_counted_and_not_shown(bench):
    text = _refused(
        bench,
        DuplicateRecordId,
        "X-1,no,30,north\nX-2,no,3,north\n X-1,no,1,north\nX-2,no,1,east\n",
    )
    assert "'patient_id', the record id, has 2 ids more than once, in 4 rows" in text
    assert "X-1" not in text


def test_missing_record_ids_are_counted(bench):
    text = _refused(bench, MissingRecordId, "1,no,30,north\n,no,30,north\n  ,no,30,north\n")
    assert "is empty in 2 rows (rows 2, 3)" in text


def test_every_problem_is_found_at_once(bench):
    bench.write(table=HEAD + "1,no,x,north\n1,maybe,30,West\n,no,30,east\n")
    found = inspect(bench.site, planned(bench.site))
    assert [p.code for p in found.problems] == [
        "record-id-missing", "record-id-duplicate", "unknown-category", "table-invalid",
        "unknown-category",
    ]  # fmt: skip
    with pytest.raises(MissingRecordId):
        encode(bench.site, planned(bench.site))


def test_missing_columns_are_all_named(bench):
    bench.write(table="patient_id,Smokes,years\n1,no,30\n")
    with pytest.raises(MissingColumn) as raised:
        encode(bench.site, planned(bench.site))
    text = str(raised.value)
    assert "has no column 'smokes', 'age', 'region'" in text
    assert "It has 'patient_id', 'Smokes', 'years'" in text


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
    with pytest.raises(TableUnreadable) as raised:
        encode(bench.site, planned(bench.site))
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,\xff\xfe\n"), ("t.csv.gz", b"a,b\n1,2\n"), ("t.parquet", b"a,b\n1,2\n")],
)
def test_a_file_that_is_not_what_its_name_says(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableUnreadable) as raised:
        read_table(tmp_path / name, ["a", "b"])
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

"""Tables of every format read alike, and each defect is told by column and rows only."""

import gzip
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from owner_agent.site.planning import planned
from owner_agent.table.encode import encode, inspect
from owner_agent.table.table import read_table
from pramana_core.errors import (
    DuplicateRecordId,
    EmptyTable,
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


def test_ids_that_differ_in_encoding_only_are_duplicates(bench):
    assert "1 ids more" in _refused(
        bench, DuplicateRecordId, "\u00e9,no,30,north\ne\u0301,no,3,north\n"
    )


def test_missing_record_ids_are_counted(bench):
    text = _refused(bench, MissingRecordId, "1,no,30,north\n,no,30,north\n  ,no,30,north\n")
    assert "is empty in 2 rows (rows 2, 3)" in text


def test_leading_zeros_make_another_record(bench):
    assert _encode(bench, "1,no,30,north\n01,no,30,north\n").record_ids == ["1", "01"]


def test_every_problem_is_found_at_once(bench):
    bench.write(table=HEAD + "1,no,x,north\n1,maybe,30,West\n,no,30,east\n")
    found = inspect(bench.site, planned(bench.site))
    assert [p.code for p in found.problems] == [
        "record-id-missing", "record-id-duplicate", "unknown-category", "table-invalid",
        "unknown-category",
    ]  # fmt: skip
    with pytest.raises(MissingRecordId, match="5 problems"):
        encode(bench.site, planned(bench.site))


@pytest.mark.parametrize("content", ["", HEAD, "\ufeff" + HEAD])
def test_a_table_without_rows(bench, content):
    bench.write(table=content)
    with pytest.raises(EmptyTable, match=r"patients\.csv (has no rows|is empty)"):
        encode(bench.site, planned(bench.site))


def test_missing_columns_are_all_named(bench):
    bench.write(table="patient_id,Smokes,years\n1,no,30\n")
    with pytest.raises(MissingColumn) as raised:
        encode(bench.site, planned(bench.site))
    text = str(raised.value)
    assert "has no column 'smokes', 'age', 'region'" in text
    assert "It has 'patient_id', 'Smokes', 'years'" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (HEAD + "1,no,30,north\n2,no,30,SECRET,x\n", "1 rows .* first is line 3, with 5"),
        (HEAD + "1,no,30\n", "do not have the 4 cells of the header"),
        ("patient_id,smokes,smokes,age,region\n1,no,no,3,north\n", "more than one column called"),
    ],
)
def test_a_ragged_table_is_refused(bench, content, says):
    bench.write(table=content)
    with pytest.raises(TableUnreadable, match=says) as raised:
        encode(bench.site, planned(bench.site))
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,\xff\xfe\n"), ("t.csv.gz", b"a,b\n1,2\n"), ("t.parquet", b"a,b\n1,2\n")],
)
def test_a_file_that_is_not_what_its_name_says(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableUnreadable, match="Line 2 .*UTF-8|cannot be read as") as raised:
        read_table(tmp_path / name, ["a", "b"])
    assert raised.value.__suppress_context__


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(TableUnreadable, match="There is no table at"):
        read_table(tmp_path / "t.csv", ["a"])


def test_cells_with_line_ends_and_commas(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"x, y","1\n2"\n,NA\n', encoding="utf-8")
    read = read_table(tmp_path / "t.csv", ["b", "a"])
    assert read.rows == 2
    assert read.columns["a"].to_pylist() == ["x, y", ""]
    assert read.columns["b"].to_pylist() == ["1\n2", "NA"]


def test_formats_agree(bench, table_text):
    bench.write(table=table_text(300))
    plain = encode(bench.site, planned(bench.site))
    folder = bench.folder
    (folder / "patients.csv.gz").write_bytes(gzip.compress(table_text(300).encode()))
    rows = [line.split(",") for line in table_text(300).splitlines()[1:]]
    ages = [float(r[2]) if r[2] else None for r in rows]
    table = pa.table(
        {
            "region": pa.array([r[3] for r in rows]).dictionary_encode(),
            "patient_id": pa.array([r[0] for r in rows], pa.large_string()),
            "age": pa.array(ages, pa.float64()),
            "smokes": [r[1] for r in rows],
        }
    )
    pq.write_table(table, folder / "patients.parquet", row_group_size=70)
    text = (folder / "site.toml").read_text()
    for name in ("patients.csv.gz", "patients.parquet"):
        bench.write(text.replace("patients.csv", name))
        other = encode(bench.site, planned(bench.site))
        assert other.record_ids == plain.record_ids
        for variable, codes in plain.columns.items():
            assert np.array_equal(other.columns[variable], codes)
            assert other.columns[variable].dtype == codes.dtype


def test_numbers_in_parquet_are_read_as_their_decimal_text(tmp_path):
    table = pa.table({"i": [7, None], "f": [45.0, 2.5], "b": [True, False]})
    pq.write_table(table, tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", ["i", "f", "b"])
    assert {name: c.to_pylist() for name, c in read.columns.items()} == {
        "i": ["7", ""], "f": ["45", "2.5"], "b": ["True", "False"],
    }  # fmt: skip


def test_how_precise_a_column_is_does_not_change_its_cells(tmp_path):
    moments = [*np.array(["2020-01-02", "2020-01-02T03:04:05"], "M8[s]").tolist(), None]
    parts = np.array(["2020-01-02T03:04:05.12"], "M8[ms]").tolist()
    columns = {
        **{unit: pa.array(moments, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        **{f"{unit} part": pa.array(parts * 3, pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
        "day": pa.array([date(2020, 1, 2)] * 3),
        "zone": pa.array(moments, pa.timestamp("us", tz="UTC")),
        **{
            f"scale {scale}": pa.array([Decimal(7), Decimal("2.5"), None], pa.decimal128(9, scale))
            for scale in (1, 2, 4)
        },
        "hundreds": pa.array([Decimal(700), Decimal(10), None], pa.decimal128(9, 0)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", coerce_timestamps=None)
    read = read_table(tmp_path / "t.parquet", list(columns))
    cells = {name: column.to_pylist() for name, column in read.columns.items()}
    for unit in ("s", "ms", "us", "ns"):
        assert cells[unit] == ["2020-01-02", "2020-01-02 03:04:05", ""]
    for unit in ("ms", "us", "ns"):
        assert cells[f"{unit} part"] == ["2020-01-02 03:04:05.12"] * 3
    assert cells["day"] == ["2020-01-02"] * 3
    assert cells["zone"] == ["2020-01-02 00:00:00Z", "2020-01-02 03:04:05Z", ""]
    for scale in (1, 2, 4):
        assert cells[f"scale {scale}"] == ["7", "2.5", ""]
    assert cells["hundreds"] == ["700", "10", ""]


def test_an_infinite_number_in_parquet_is_refused_by_its_row(bench):
    table = pa.table(
        {
            "patient_id": ["1", "2", "3"], "smokes": ["no", "yes", "no"],
            "age": [45.0, float("inf"), float("-inf")], "region": ["north"] * 3,
        }
    )  # fmt: skip
    pq.write_table(table, bench.folder / "patients.parquet")
    bench.write((bench.folder / "site.toml").read_text().replace(".csv", ".parquet"))
    with pytest.raises(TableError, match="'age' is cut into intervals but holds no finite number"):
        encode(bench.site, planned(bench.site))


def test_text_beyond_what_an_array_holds_is_told_of_the_table(bench, monkeypatch):
    def too_long(_arrays):
        raise pa.ArrowInvalid("offset overflow while concatenating arrays")

    bench.write(table=HEAD + "P1,no,30,north\n")
    monkeypatch.setattr(pa, "concat_arrays", too_long)
    with pytest.raises(TableUnreadable, match="cannot be read as CSV"):
        read_table(bench.site.table, ["smokes"])

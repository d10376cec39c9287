"""Tables in databases and in parts: the same release as from a file, and all or nothing."""

import csv
import io
import sqlite3

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy

from owner_agent.site.site import load_site
from owner_agent.table.database import _connection
from owner_agent.table.table import cut, detect, read_chunks, read_table
from pramana_core.errors import ConfigError, MissingColumn, OptionError, TableError
from tests.owner_agent.conftest import SITE
from tests.owner_agent.release.publishing import published
from tests.postgres import postgres, stopped_postgres  # noqa: F401 - fixtures

COLUMNS = ("patient_id", "smokes", "age", "region")
ROWS = [
    (
        f"p{i:03d}",
        ("no", "yes")[i % 2],
        None if i % 7 == 0 else 18 + i,
        ("north", "east")[i % 3 > 0],
    )
    for i in range(60)
]
AS_TEXT = pa.schema([(name, pa.string()) for name in COLUMNS])
MADE = "(patient_id text, smokes text, age integer, region text)"


def in_csv(folder):
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([COLUMNS, *ROWS])
    (folder / "patients.csv").write_text(text.getvalue())
    return 'table = "patients.csv"'


def in_parquet(folder):
    columns = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "patients.parquet")
    return 'table = "patients.parquet"'


def in_parts(folder, named=("10", "2", "a")):
    """Write the rows in three files, in the order of their names."""
    (folder / "parts").mkdir(exist_ok=True)
    for name, start in zip(named, (0, 25, 50), strict=True):
        columns = map(list, zip(*ROWS[start : start + 25], strict=True))
        table = pa.table(dict(zip(COLUMNS, columns, strict=True)))
        pq.write_table(table, folder / "parts" / f"{name}.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / "._10.parquet").touch()
    return 'table = "parts/*.parquet"'


def in_sqlite(folder):
    with sqlite3.connect(folder / "hospital.db") as connection:
        connection.execute(f"create table patients {MADE}")
        connection.executemany("insert into patients values (?, ?, ?, ?)", reversed(ROWS))
    return 'table = "sqlite:///hospital.db"\nquery = "patients"'


def address(server, name="postgres"):
    return f"postgresql://postgres@127.0.0.1:{server.port}/{name}"


def fill(server, rows=ROWS):
    with psycopg.connect(address(server), autocommit=True) as connection:
        connection.execute("drop table if exists patients")
        connection.execute(f"create table patients {MADE}")
        with connection.cursor().copy("copy patients from stdin") as copy:
            for row in rows:
                copy.write_row(row)


def write(bench, table):
    (bench.folder / "site.toml").write_text(SITE.replace('table = "patients.csv"', table))
    return bench.site


def test_a_table_from_five_sources_is_one_release(bench, postgres):  # noqa: F811
    fill(postgres)
    query = "select p.*, 1 as more from patients p where age is null or age > 0;"
    tables = [
        *(make(bench.folder) for make in (in_csv, in_parquet, in_parts, in_sqlite)),
        f'table = "{address(postgres)}"\nquery = "public.patients"',
        f'table = "{address(postgres)}"\nquery = "{query}"',
    ]
    digests = set()
    for table in tables:
        write(bench, table)
        digests.add(published(bench).digest)
    assert len(digests) == 1
    assert len(bench.miner.sealed()) == 1


def test_rows_come_in_the_order_of_the_record_ids_whatever_the_size_of_a_chunk(bench):
    site = write(bench, in_sqlite(bench.folder))
    chunks = list(read_chunks(site.table, ["smokes", "patient_id"], rows=7))
    assert [chunk.rows for chunk in chunks] == [7] * 8 + [4]
    ids = [cell for chunk in chunks for cell in chunk.columns["patient_id"].to_pylist()]
    assert ids == sorted(row[0] for row in ROWS)
    assert set(chunks[0].others) == {"age", "region"}


def test_parts_are_read_in_the_order_of_their_names(bench):
    chunks = list(read_chunks(write(bench, in_parts(bench.folder)).table, COLUMNS, rows=7))
    assert [chunk.rows for chunk in chunks] == [7] * 8 + [4]
    ids = [cell for chunk in chunks for cell in chunk.columns["patient_id"].to_pylist()]
    assert ids == [row[0] for row in ROWS]
    assert chunks[-1].read == (60, 60)


def test_a_part_that_is_damaged_or_has_other_columns_is_named(bench):
    table = write(bench, in_parts(bench.folder)).table
    part = bench.folder / "parts" / "2.parquet"
    for other in (pq.read_table(part).drop(["age"]), pq.read_table(part).cast(AS_TEXT)):
        pq.write_table(other, part)
        with pytest.raises(TableError) as raised:
            read_table(table, ["smokes"])
        assert raised.value.where == str(part)
    part.write_bytes(b"PAR1")
    with pytest.raises(TableError) as raised:
        read_table(table, ["smokes"])
    assert raised.value.where == str(part)


def test_a_part_that_vanishes_while_the_table_is_read_leaves_nothing(bench, monkeypatch):
    site = write(bench, in_parts(bench.folder))
    before, last = bench.files(), bench.folder / "parts" / "a.parquet"

    def vanish(batches, rows):
        for batch in batches:
            last.unlink(missing_ok=True)
            yield from cut(iter([batch]), rows)

    monkeypatch.setattr("owner_agent.table.table.cut", vanish)
    with pytest.raises(TableError) as raised:
        published(bench)
    assert raised.value.where == str(site.table)
    assert not last.exists()
    assert bench.miner.sealed() == []
    assert bench.files() == before | {"publish.lock": b""}


def test_a_missing_column_and_a_table_that_is_not_there(bench):
    site = write(bench, in_sqlite(bench.folder))
    with pytest.raises(MissingColumn) as raised:
        read_table(site.table, ["smoke"])
    assert raised.value.where == "smoke"
    for query in ("patient", "select SECRET from patients", "delete from patients"):
        site = write(bench, f'table = "sqlite:///hospital.db"\nquery = "{query}"')
        with pytest.raises(TableError) as raised:
            read_table(site.table, ["smokes"])
        assert "SECRET" not in str(raised.value)
        assert "PGPASSWORD" not in str(raised.value)
    with sqlite3.connect(bench.folder / "hospital.db") as connection:
        assert connection.execute("select count(*) from patients").fetchone() == (60,)


def test_a_database_that_goes_away_while_it_is_read_leaves_nothing(bench, stopped_postgres):  # noqa: F811
    fill(stopped_postgres, [(f"p{i:06d}", "no", i % 90, "north") for i in range(200_000)])
    site = write(bench, f'table = "{address(stopped_postgres)}"\nquery = "patients"')
    before = bench.files()
    chunks = read_chunks(site.table, list(COLUMNS), rows=1000)
    assert next(chunks).rows == 1000
    stopped_postgres.kill()
    with pytest.raises(TableError) as raised:
        list(chunks)
    assert raised.value.where == "table"
    with pytest.raises(TableError):
        published(bench)
    assert bench.miner.sealed() == []
    assert bench.files() == before | {"publish.lock": b""}


@pytest.mark.parametrize(
    "table",
    [
        'table = "postgresql://u:SECRET@h/d"\nquery = "t"',
        'table = "postgresql://u@h/d?password=SECRET"\nquery = "t"',
        'table = "postgresql://u:abc/SECRET@h/d"\nquery = "t"',
        'table = "postgresql://u@h/d?pass%77ord=SECRET"\nquery = "t"',
        'table = "postgresql://u@h/d?sslpassword=SECRET"\nquery = "t"',
        'table = "postgresql://u@h/d?PASSWORD=SECRET"\nquery = "t"',
        'table = "postgresql://u@h/d"',
        'table = "patients.csv"\nquery = "t"',
        'table = "mysql://u@h/d"\nquery = "t"',
    ],
)
def test_addresses_that_no_site_file_may_have(bench, table):
    with pytest.raises(ConfigError) as raised:
        write(bench, table)
    assert "SECRET" not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "query", "where"),
    [
        ("postgresql://u:SECRET@h/d", "t", "table"),
        ("postgresql://u@h/d", None, "query"),
        ("patients.csv", "t", "query"),
    ],
)
def test_init_refuses_the_same_addresses(table, query, where):
    with pytest.raises(OptionError) as raised:
        detect(table, query=query)
    assert raised.value.where == where
    assert "SECRET" not in str(raised.value)


def test_init_writes_a_site_file_for_a_database(bench, command, monkeypatch):
    in_sqlite(bench.folder)
    monkeypatch.chdir(bench.folder)
    (bench.folder / "site.toml").unlink()
    ended = command(
        "init", "sqlite:///hospital.db", "--query", "patients", "--owner", "clinic", "--yes"
    )
    assert ended.exit_code == 0, ended.err
    site = load_site(bench.folder / "site.toml")
    assert (site.file.table, site.file.query) == ("sqlite:///hospital.db", "patients")
    assert [v.name for v in site.file.variables] == ["smokes", "age", "region"]
    assert command("check").exit_code == 0


@pytest.mark.parametrize("rest", ["h:notaport/x", "[::1/x", "127.0.0.1:1/x"])
def test_a_broken_or_silent_address_is_an_error_without_a_traceback(bench, rest):
    site = write(bench, f'table = "postgresql://{rest}"\nquery = "t"')
    with pytest.raises((OptionError, TableError)) as raised:
        read_table(site.table, ["smokes"])
    assert raised.value.where == "table"


def test_a_database_file_of_any_name_is_opened_for_reading_only(bench):
    write(bench, in_sqlite(bench.folder))
    (bench.folder / "hospital.db").rename(bench.folder / "50%20 #1.db")
    site = write(bench, 'table = "sqlite:///50%20 #1.db"\nquery = "patients"')
    assert read_table(site.table, ["smokes"]).rows == 60
    with pytest.raises(TableError), _connection(site.table) as connection:
        connection.execute(sqlalchemy.text("delete from patients"))


def test_a_database_file_that_is_not_there_is_not_created(bench):
    site = write(bench, 'table = "sqlite:///none.db"\nquery = "t"')
    with pytest.raises(TableError):
        read_table(site.table, ["smokes"])
    assert not (bench.folder / "none.db").exists()


@pytest.mark.parametrize(
    "query",
    ["select * from patients where smokes <> ' :x'", "select * from patients -- all of them"],
)
def test_colons_and_comments_in_a_query(bench, query):
    site = write(bench, in_sqlite(bench.folder).replace('"patients"', f'"{query}"'))
    assert read_table(site.table, ["smokes"]).rows == 60

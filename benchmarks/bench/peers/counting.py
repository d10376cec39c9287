"""Joint counts by DuckDB, polars and numpy, of columns of codes in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.bench.peers import columns, threads


def duckdb_counts(folder: str, names: Sequence[str]) -> Callable[[], object]:
    """Count by GROUP BY, from a table of DuckDB's own."""
    import duckdb
    import pandas as pd

    database = duckdb.connect(config={"threads": threads()})
    database.register("given", pd.DataFrame(columns(folder)))
    database.execute("create table records as select * from given")
    database.unregister("given")
    listed = ", ".join(names)
    query = f"select {listed}, count(*) from records group by {listed}"  # noqa: S608 our own names
    return lambda: database.execute(query).fetchall()


def duckdb_pairs(
    folder: str,
    pairs: Sequence[tuple[str, str]],
) -> Callable[[], object]:
    """Count all pairs of columns by GROUPING SETS, from a Parquet file."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(folder) / "records.parquet"
    pq.write_table(pa.table(columns(folder)), path)
    database = duckdb.connect(config={"threads": threads()})
    names = sorted({name for pair in pairs for name in pair})
    sets = ", ".join(f"({a}, {b})" for a, b in pairs)
    query = (
        f"select {', '.join(names)}, count(*) from '{path}'"  # noqa: S608 our own names
        f" group by grouping sets ({sets})"
    )
    return lambda: database.execute(query).fetchall()


def polars_counts(folder: str, names: Sequence[str]) -> Callable[[], object]:
    """Count by `group_by`; the process has as many threads as it may."""
    import polars as pl

    frame = pl.DataFrame(columns(folder))
    return lambda: frame.group_by(list(names)).len()

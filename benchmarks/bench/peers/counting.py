"""Joint counts by DuckDB, polars and numpy, of columns of codes in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def polars_counts(folder: str, names: Sequence[str]) -> Callable[[], object]:
    """Count by `group_by`; the process has as many threads as it may."""
    import polars as pl

    frame = pl.DataFrame(columns(folder))
    return lambda: frame.group_by(list(names)).len()

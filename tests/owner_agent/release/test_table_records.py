"""A table read in chunks of any length leaves as it would if it were held whole."""

import random
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import randomize
from owner_agent.release import memory
from owner_agent.release.publish import draw_table
from owner_agent.site.planning import planned
from owner_agent.state.keys import KeyStore
from owner_agent.table.encode import encode
from pramana_core.errors import PramanaError
from tests.owner_agent.release.publishing import published

HEAD = "patient_id,smokes,age,region,diary\n"


def records_of(bench, rows, watch=lambda *_: None):
    """Return the bench's records, read so many rows at a time."""
    plan = planned(bench.site)
    secrets = KeyStore(bench.state).load()
    return draw_table(bench.site, "asia", plan, secrets, 0, watch, rows).reports


def in_memory(bench):
    """Return the reports of the bench's table by way of the whole table."""
    plan, secrets = planned(bench.site), KeyStore(bench.state).load()
    table = encode(bench.site, plan)
    keys = pseudonyms(secrets, "asia", table.record_ids)
    return randomize(plan.plan, secrets, "asia", keys, table.columns)


def shuffled(text, seed=3):
    """Return a table's text with its rows in another order."""
    head, *rows = text.splitlines()
    random.Random(seed).shuffle(rows)
    return "\n".join([head, *rows]) + "\n"


def read_in_chunks(monkeypatch, rows):
    """Have the table read so many rows at a time."""
    monkeypatch.setattr(draw_table, "__defaults__", (rows,))


@pytest.mark.parametrize("rows", [1, 7, 50, 600, 10_000])
def test_chunks_of_any_length_give_what_the_whole_table_gives(bench, table_text, rows):
    count = 50 if rows < 50 else 1_300
    bench.write(table=shuffled(table_text(count)))
    whole = in_memory(bench)
    records = records_of(bench, rows)
    made = records
    assert made.keys[:].tobytes() == whole.keys.tobytes()
    for name, column in whole.columns.items():
        assert made.columns[name][:].tobytes() == column.tobytes()
        assert made.columns[name].dtype == column.dtype
    assert made.digest == whole.digest


@pytest.mark.parametrize("in_chunks", [1, 7, 50, 51])
def test_corrected_records_leave_alike_in_chunks(left, monkeypatch, table_text, in_chunks):
    """Of 22 corrected records and 15 that come later."""
    text = table_text(65).replace(",yes,", ",no,")
    outcomes = []
    for rows in (in_chunks, 1 << 18):
        read_in_chunks(monkeypatch, rows)
        monkeypatch.setattr(memory, "READ_ROWS", rows)
        shutil.rmtree(left.state)
        shutil.copytree(left.folder / "backup", left.state)
        left.miner.releases = dict(list(left.miner.releases.items())[:1])
        left.write(table=shuffled(text, seed=rows))
        outcomes.append(published(left, corrections="keep"))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].records == 65
    assert outcomes[0].stale > 0


WRONG = [
    "a,no,30,north,\nb,no,30,north,\na,no,30,north,\nc,no,30,north,\na,no,30,north,\n",
    "a,no,30,north,\n,no,30,north,\n,no,30,north,\na,no,30,north,\nb,SECRET,30,north,\n",
    "a,no,x,atlantis,\nb,,30,north,\nc,no,30,lemuria,\nd,no,30,atlantis,\nb,no,1e400,north,\n",
    "a,no,30,o1,\nb,no,30,o2,\nc,no,30,o3,\nd,no,30,o4,\ne,no,30,o5,\nf,no,30,o6,\ng,no,30,o1,\n",
    ",no,30,north,\n,no,30,north,\n",
    "a,no,30,north,\nb,no\nc,no,30,north,\nd,no,30\n",
    "".join(f"{i % 9},{'maybe' if i > 5 else 'no'},30,north,\n" for i in range(30)),
]


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_all_that_is_wrong_is_told_as_of_the_whole_table(bench, text, rows):
    bench.write(table=HEAD + text)
    with pytest.raises(PramanaError) as whole:
        encode(bench.site, planned(bench.site))
    before = bench.files()
    with pytest.raises(PramanaError) as told:
        records_of(bench, rows)
    assert type(told.value) is type(whole.value)
    assert str(told.value) == str(whole.value)
    assert bench.files() == before


DRAWN = """
import resource, sys
from pathlib import Path
from owner_agent.release.publish import draw_table
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore

site = load_site(Path(sys.argv[1]))
plan = planned(site)
reports = draw_table(
    site, "asia", plan, KeyStore(site.state).load(), 0, lambda *_: None, 10_000
).reports
print(len(reports.digest), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _most_memory(bench, count):
    """Return the most MiB that a process has while it draws the reports of so many records."""
    numbers = np.arange(count)
    table = pa.table(
        {
            "patient_id": pc.cast(pa.array(numbers), pa.string()),
            "smokes": pa.array(["no", "yes"]).take(pa.array(numbers % 2)),
            "age": pa.array(numbers % 80),
            "region": pa.array(["north", "south", "east"]).take(pa.array(numbers % 3)),
        }
    )
    pa.csv.write_csv(table, bench.folder / "patients.csv")
    answer = subprocess.run(
        [sys.executable, "-c", DRAWN, bench.folder / "site.toml"],
        check=True,
        capture_output=True,
        text=True,
    )
    digest, most = answer.stdout.split()
    assert digest == "64"
    return int(most) / 1024


def test_memory_does_not_grow_with_the_table(bench):
    """Held whole, 200,000 records more would take 60 MiB or more."""
    few, many = (_most_memory(bench, count) for count in (50_000, 250_000))
    assert many < few + 25

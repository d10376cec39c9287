"""Randomizing a frame: what the owner's agent would send, the same however often it is asked."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from owner_agent.release.publish import draw_table
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.keys import KeyStore
from pramana.owner.keys import Keys
from pramana.owner.randomizing import randomize
from pramana_core.channels import Identity, Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import DuplicateRecordId, TableError
from pramana_core.plan import Block, Plan
from pramana_core.privacy import Amplification

DOMAIN = Domain.of(sex=["f", "m"], region=["north", "south", "east"])
PLAN = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.3)) for v in DOMAIN))
KEYS = Keys.for_experiments(7)
SITE = """
owner = "clinic"
table = "patients.parquet"
record_id = "id"
[miner]
url = "http://127.0.0.1:9"
study = "asia"
[[variables]]
name = "sex"
categories = ["f", "m"]
sensitive = true
channel = { kind = "symmetric", p = 0.3 }
[[variables]]
name = "region"
categories = ["north", "south", "east"]
sensitive = true
channel = { kind = "symmetric", p = 0.3 }
"""


def people(ids) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = len(ids)
    return pd.DataFrame(
        {
            "id": ids,
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south", "east"], n),
        }
    )


def told(reports) -> dict[str, tuple]:
    frame = reports.to_frame(pseudonyms=True)
    return dict(zip(frame.index, frame.itertuples(index=False, name=None), strict=True))


IDS = {
    "text with spaces around": [" a", "b ", "c\t", "é", "é1", "日本"],
    "whole numbers": [3, 1, 2, 50, 4, 1000],
    "numbers beside missing cells elsewhere": [3.0, 1.0, 2.5, 50.0, 4.0, 1e3],
    "dates": list(pd.date_range("2020-01-01", periods=6)),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_the_reports_are_those_that_the_owners_agent_publishes(tmp_path, ids):
    table = people(ids)
    keys = Keys.create(tmp_path / "state")
    table.to_parquet(tmp_path / "patients.parquet")
    (tmp_path / "site.toml").write_text(SITE)
    site = load_site(tmp_path / "site.toml")
    plan = planned(site)
    secrets = KeyStore(tmp_path / "state").load()
    made = draw_table(site, "asia", plan, secrets, 0, lambda *_: None, 100).reports
    reports = randomize(table, plan.plan, keys, record_id="id", study="asia")
    assert plan.plan == PLAN
    assert reports.digest == made.digest
    assert np.array_equal(reports.pseudonyms, made.keys[:])


def test_the_same_records_give_the_same_reports_in_any_order_and_company():
    table = people([f"person {i}" for i in range(200)])
    first = randomize(table, PLAN, KEYS, record_id="id")
    assert randomize(table, PLAN, KEYS, record_id="id").digest == first.digest
    mixed = table.sample(frac=1, random_state=1)
    assert randomize(mixed, PLAN, KEYS, record_id="id").digest == first.digest
    more = pd.concat([people([f"other {i}" for i in range(50)]), mixed])
    again = told(randomize(more, PLAN, KEYS, record_id="id"))
    assert len(again) == 250
    assert told(first).items() <= again.items()


TABLE = people(list("abcdef"))
SAME = {
    "the index": (TABLE.set_index("id"), "id"),
    "the index itself": (TABLE.set_index("id"), TABLE.set_index("id").index),
    "a list": (TABLE, list("abcdef")),
    "a tuple": (TABLE, tuple("abcdef")),
    "an array": (TABLE, np.array(list("abcdef"))),
    "a series": (TABLE, TABLE["id"]),
    "a generator": (TABLE, iter("abcdef")),
    "a dict of columns": (TABLE.to_dict("list"), "id"),
    "polars": (pl.from_pandas(TABLE), "id"),
    "categories": (TABLE.astype("category"), "id"),
    "polars' series": (TABLE, pl.Series(list("abcdef"))),
}


@pytest.mark.parametrize(("frame", "record_id"), SAME.values(), ids=SAME.keys())
def test_ids_are_understood_however_they_come(frame, record_id):
    wanted = randomize(TABLE, PLAN, KEYS, record_id="id").digest
    assert randomize(frame, PLAN, KEYS, record_id=record_id).digest == wanted


DAYS = [date(2020, 1, day) for day in (1, 2)]
MOMENTS = pd.Series(pd.to_datetime(DAYS))
ONE_ID = {
    "dates": [
        ["2020-01-01", "2020-01-02"],
        DAYS,
        [DAYS[0], MOMENTS[1]],
        np.array(DAYS, dtype="M8[D]"),
        *(MOMENTS.astype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")),
        pd.PeriodIndex(MOMENTS, freq="D"),
    ],
    "decimals": [
        [7, 8],
        [Decimal(7), Decimal("8.00")],
        [Decimal("7.0"), 8],
        pd.Series(["7.0", "8.0"]).map(Decimal).astype(pd.ArrowDtype(pa.decimal128(9, 4))),
    ],
    "large numbers": [
        [10**20, 2**53 + 1],
        ["100000000000000000000", "9007199254740993"],
        [Decimal(10**20), 2**53 + 1],
    ],
    "UUIDs": [[UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]],
}


@pytest.mark.parametrize("alike", ONE_ID.values(), ids=ONE_ID.keys())
def test_an_id_is_the_same_in_any_type_that_a_table_can_have_it_in(alike):
    frame = people([1, 2])
    digests = {randomize(frame, PLAN, KEYS, record_id=ids).digest for ids in alike}
    assert len(digests) == 1


@pytest.mark.parametrize("cell", [(1, 2), {1}, object(), "\ud800", b"\xff"])
def test_what_has_no_text_of_its_own_is_no_id(cell):
    with pytest.raises(TableError):
        randomize(people([1, 2]), PLAN, KEYS, record_id=[1, cell])


@pytest.mark.parametrize(
    ("ids", "error", "said"),
    [
        (["a", "a ", "b", "c", "d", "e"], DuplicateRecordId, "in 2 records (records 1, 2)"),
        (["a", "", "b", "c", "d", None], TableError, "empty in 2 records (records 2, 6)"),
        ([7, 7.0, 8, 9, 10, 11], DuplicateRecordId, "records 1, 2"),
        ([1.0, np.nan, 2, 3, 4, 5], TableError, "1 record (record 2)"),
    ],
)
def test_ids_that_cannot_tell_records_apart_are_refused_by_row(ids, error, said):
    with pytest.raises(error) as caught:
        randomize(people(ids), PLAN, KEYS, record_id="id")
    assert said in str(caught.value)


def test_variables_that_the_plan_tells_are_told_and_the_reports_say_so():
    plan = Plan((Block((DOMAIN["sex"],), Identity(2)), PLAN.blocks[1]))
    reports = randomize(TABLE, plan, KEYS, record_id="id")
    assert sorted(reports.to_frame()["sex"]) == sorted(TABLE["sex"])
    assert reports.amplification == Amplification.of(PLAN.blocks[1].channel)
    assert "sex unchanged" in repr(reports)


def test_reports_are_not_randomized_again():
    reports = randomize(TABLE, PLAN, KEYS, record_id="id").to_frame(pseudonyms=True)
    with pytest.raises(TableError):
        randomize(reports, PLAN, KEYS, record_id="pseudonym")

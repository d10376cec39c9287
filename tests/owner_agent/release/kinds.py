"""One site for each kind of release: its file, its table, and other ways to make it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from owner_agent.release.masked import PreparedMask
from owner_agent.release.options import PublishOptions
from owner_agent.release.prepared import PreparedRelease
from owner_agent.release.publish import PreparedRecords, PublishOutcome, publish
from owner_agent.release.tree import PreparedTree
from tests.owner_agent.conftest import SITE, Bench, table_of

HEAD = """
owner = "clinic-north"
table = "patients.csv"
record_id = "patient_id"

[miner]
url = "http://127.0.0.1:9"
study = "asia"
"""

MASK = f"""{HEAD}
[mask]
confidential = ["expenditure", "debt"]
tell = ["age", {{ column = "gender", categories = ["f", "m"] }}]
method = "egadp"
"""

TREE = f"""{HEAD}
[share_model]
requirement = {{ k = 10, c = 8, l = 2 }}

[share_model.target]
column = "diagnosis"
categories = ["healthy", "flu", "asthma"]

[[share_model.attributes]]
column = "age"
low = 0
high = 100
whole = true

[[share_model.attributes]]
column = "ward"
categories = ["north", "south", "east", "west"]
"""
REQUIREMENT = "requirement = { k = 10, c = 8, l = 2 }"
PRIVATE = TREE.replace(REQUIREMENT, "private = { epsilon = 2 }")

OLDEST = "97.125"
"""The greatest age of the clinic: it stands in no message and nothing that is printed."""


def shop_rows(records: int, seed: int = 5) -> list[str]:
    """Return rows of a table in which debt falls with expenditure, and expenditure with age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 61, records)
    gender = np.where(rng.random(records) < 0.5, "f", "m")
    expenditure = 400 - 3 * age + 20 * rng.standard_normal(records)
    debt = 800 - expenditure + 20 * rng.standard_normal(records)
    return [
        f"C-{i:05d},{age[i]},{gender[i]},{expenditure[i]:.2f},{debt[i]:.2f}" for i in range(records)
    ]


def clinic_rows(records: int, seed: int = 5) -> list[str]:
    """Return rows of a table in which the old have asthma and the south has the flu."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, records).astype(float)
    age[rng.integers(records)] = float(OLDEST)
    ward = rng.integers(0, 4, records)
    likely = np.where(age > 60, 2, np.where(ward == 1, 1, 0))
    diagnosis = np.where(rng.random(records) < 0.75, likely, rng.integers(0, 3, records))
    wards, classes = ("north", "south", "east", "west"), ("healthy", "flu", "asthma")
    return [
        f"P-{i:05d},{age[i]:g},{wards[ward[i]]},{classes[diagnosis[i]]}" for i in range(records)
    ]


@dataclass(frozen=True)
class Kind:
    """A kind of release at one site; `others` replace a text of the site file by another."""

    make: type[PreparedRelease]
    site: str
    head: str
    rows: list[str]
    command: str
    parts: int
    others: tuple[tuple[str, str], ...] = field(default=())

    def table(self, rows: list[str] | None = None) -> str:
        """Return a table of rows: the kind's own if none are given."""
        return "\n".join([self.head, *(self.rows if rows is None else rows)]) + "\n"

    def write(self, bench: Bench) -> None:
        """Make a bench's site one of this kind."""
        bench.write(self.site, self.table())

    def publish(self, bench: Bench, **options: object) -> PublishOutcome:
        """Publish in three parts, where there are any."""
        show = options.pop("show", lambda _now: None)
        options.setdefault("part_records", -(-len(self.rows) // 3))
        chosen = PublishOptions(**options)  # type: ignore[arg-type]
        return publish(self.make, bench.site, bench.environment, chosen, show=show)  # type: ignore[arg-type]


_HEAD, *_ROWS = table_of(50).splitlines()

KINDS = {
    "records": Kind(
        PreparedRecords, SITE, _HEAD, _ROWS, "owner-agent publish", 3,
        (("p1 = 0.1, p2 = 0.25", "p1 = 0.2, p2 = 0.25"), ("p = 0.4", "p = 0.5"),
         ('name = "smoker"', 'name = "tobacco"')),
    ),
    "masked": Kind(
        PreparedMask, MASK, "patient_id,age,gender,expenditure,debt", shop_rows(120),
        "owner-agent mask --publish", 3,
        (('method = "egadp"', 'method = "gadp"'),
         ('method = "egadp"', 'method = "egadp"\nmax_leverage = 0.7'),
         ('["age", {', "[{")),
    ),
    "tree": Kind(
        PreparedTree, TREE, "patient_id,age,ward,diagnosis", clinic_rows(300),
        "owner-agent share-model --publish", 0,
        (("k = 10", "k = 11"), ("high = 100", "high = 110"),
         ("[share_model]", '[share_model]\ntell = "distribution"')),
    ),
    "private tree": Kind(
        PreparedTree, PRIVATE, "patient_id,age,ward,diagnosis", clinic_rows(300),
        "owner-agent share-model --publish", 0, (("epsilon = 2", "epsilon = 1"),),
    ),
}  # fmt: skip

"""Processes killed at random in the middle of what they do, on a network that loses and doubles.

`make chaos` is the long form (PRAMANA_CHAOS_KILLS, PRAMANA_CHAOS_SEED). Beside it the controls:
what a campaign left is broken by hand, in each way that must not happen, and must be found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa

from owner_agent.site.site import load_site
from tests.chaos.campaign import Campaign
from tests.chaos.checking import Aftermath, faults
from tests.chaos.schedule import LONG, LONG_WITH_DATABASE, SHORT, SHORT_WITH_DATABASE, Blow
from tests.chaos.service import MARK
from tests.postgres import running_postgres

pytestmark = [pytest.mark.end_to_end, pytest.mark.slow]

KILLS = int(os.environ.get("PRAMANA_CHAOS_KILLS", "0"))
"""On each of the two databases; 0 stands for the short ones, in which everything happens once."""
SEED = int(os.environ.get("PRAMANA_CHAOS_SEED", "18"))


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign that is over."""
    root = tmp_path_factory.mktemp("campaign")
    made = Campaign(root, SEED, KILLS, LONG if KILLS else SHORT, workers=2 if KILLS else 1)
    made.run()
    return made


def dealt(campaign: Campaign) -> set[Blow]:
    return {Blow(kill.during, kill.victim) for kill in campaign.kills}


def test_kills_lose_nothing_and_count_nothing_twice(campaign: Campaign):
    print(f"\n{campaign.told()}")
    assert len(campaign.kills) >= KILLS
    assert dealt(campaign) >= set(SHORT)
    assert faults(campaign.after, commands=True) == []


def test_kills_of_the_database_lose_nothing_either(tmp_path: Path):
    blows = LONG_WITH_DATABASE if KILLS else SHORT_WITH_DATABASE
    with running_postgres() as server:
        campaign = Campaign(tmp_path, SEED + 1, KILLS, blows, server)
        after = campaign.run()
        print(f"\n{campaign.told()}")
        assert len(campaign.kills) >= KILLS
        assert dealt(campaign) >= set(SHORT_WITH_DATABASE)
        assert faults(after, commands=True) == []


@pytest.fixture
def copy(campaign: Campaign, tmp_path: Path) -> Aftermath:
    """What the campaign left, to be broken."""
    root = tmp_path / "copy"
    after = campaign.after
    shutil.copytree(campaign.root, root, dirs_exist_ok=True)
    owners = {
        study: [
            replace(owner, site=load_site(root / "studies" / study / owner.name / "site.toml"))
            for owner in several
        ]
        for study, several in after.owners.items()
    }
    data = root / "miner"
    database = f"sqlite:///{data / 'miner.sqlite'}"
    return replace(after, data=data, database=database, owners=owners, mark=str(tmp_path))


def first_release(after: Aftermath) -> str:
    return str(after.rows("SELECT id FROM releases ORDER BY seq LIMIT 1")[0]["id"])


def write(after: Aftermath, statement: str, **values: object) -> None:
    engine = sa.create_engine(after.database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        assert connection.execute(sa.text(statement), values).rowcount == 1


def count_a_part_twice(after: Aftermath) -> str:
    """Write the first records of a release a second time over the last ones."""
    path = after.data / "columns" / f"{first_release(after)}.arrow"
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    doubled = pa.concat_tables([table.slice(0, len(table) - 30), table.slice(0, 30)])
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(doubled)
    return "30 records are there twice"


def lose_a_record(after: Aftermath) -> str:
    path = after.data / "columns" / f"{first_release(after)}.arrow"
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.slice(1))
    return "1 records are lost or counted twice in the files"


def leave_a_file(after: Aftermath) -> str:
    (after.data / "scratch" / "left").write_bytes(b"half a column")
    return "scratch/left belongs to no release"


def change_a_model(after: Aftermath) -> str:
    row = after.rows("SELECT id, body FROM models ORDER BY seq LIMIT 1")[0]
    body = json.loads(row["body"])
    body["cells"][0]["count"] += 1
    write(after, "UPDATE models SET body = :b WHERE id = :i", b=json.dumps(body), i=row["id"])
    return "its model is not what it was when it was first read"


def publish_again(after: Aftermath) -> str:
    """Enter a release into a ledger that never left."""
    owner = next(iter(after.owners.values()))[0]
    entry = owner.ledger.entries()[0]
    owner.ledger.put(replace(entry, name="r-other", release_id="r-other"))
    return f"/{owner.name} has draws of"


BREAK = [
    *(count_a_part_twice, lose_a_record, leave_a_file, change_a_model, publish_again),
]


@pytest.mark.parametrize("broken", BREAK, ids=lambda broken: broken.__name__)
def test_control_what_must_not_happen_is_found(copy: Aftermath, broken: Callable[[Aftermath], str]):
    assert faults(copy) == []
    told = broken(copy)
    assert any(told in fault for fault in faults(copy)), faults(copy)


def test_control_a_process_left_behind_is_found(copy: Aftermath):
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        command,
        env={**os.environ, MARK: copy.mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as left:
        assert left.stdout.read(1)
        (found,) = faults(copy)
        assert "still running" in found
        left.communicate()
    assert faults(copy) == []

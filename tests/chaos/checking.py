"""What must be true after a campaign, read from disk by other means than the service's own.

`faults` lists what is wrong, in words; an empty list is a campaign survived.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa

from tests.chaos.owners import BASE, NAMES, Owner, People
from tests.chaos.service import marked
from tests.forked import run_command

_FOLDERS = ("parts", "columns", "scratch")
_OF_ITS_RUN = ("id", "job", "name", "created")
"""What differs between two jobs that learn the same."""


@cache
def _engine(database: str) -> sa.Engine:
    return sa.create_engine(database, poolclass=sa.NullPool)


@dataclass
class Aftermath:
    """What a campaign leaves behind.

    `tables` maps a study to the job that counted its people; `first_seen` a job to the digest of
    its model when it was first read; `again` a job to the same one, run undisturbed at the end.
    """

    data: Path
    database: str
    mark: str
    environment: Mapping[str, str]
    """By which the miner's commands find its database."""
    people: dict[str, People] = field(default_factory=dict)
    owners: dict[str, list[Owner]] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    first_seen: dict[str, str] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)

    def rows(self, query: str) -> list[Mapping[str, Any]]:
        """Ask the miner's database."""
        with _engine(self.database).connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(query)).mappings()]

    def sealed(self, study: str) -> dict[str, Mapping[str, Any]]:
        """Return the sealed release of each owner."""
        rows = self.rows("SELECT id, study, owner, state, records, name FROM releases ORDER BY seq")
        return {r["owner"]: r for r in rows if (r["study"], r["state"]) == (study, "sealed")}

    def columns(self, release: str) -> pa.Table:
        """Return a sealed release's records as they lie on disk."""
        with pa.memory_map(str(self.data / "columns" / f"{release}.arrow")) as source:
            return pa.ipc.open_file(source).read_all()


def faults(after: Aftermath, *, commands: bool = False) -> list[str]:
    """Return everything that a campaign broke; with `commands` also what `check` finds wrong."""
    checks = (_releases, _records, _tables, _jobs, _files, _audit, _ledgers, _strays)
    wanted = (*checks, _refused) if commands else checks
    return [fault for check in wanted for fault in check(after)]


def _refused(after: Aftermath) -> Iterator[str]:
    """Let the project's own command look at the store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in after.environment.items():
            patch.setenv(name, value)
        ended = run_command("miner_service", "check", "--json", "--data", str(after.data))
    if ended.returncode:
        yield f"check ended with {ended.returncode}: {ended.stdout}"


def _releases(after: Aftermath) -> Iterator[str]:
    rows = after.rows("SELECT study, owner, state FROM releases")
    states = Counter((row["study"], row["owner"], row["state"]) for row in rows)
    wanted = {(study, name, "sealed"): 1 for study in after.people for name in NAMES}
    if states != wanted:
        yield f"releases are {dict(states - Counter(wanted))} beyond one sealed for each owner"


def _records(after: Aftermath) -> Iterator[str]:
    """Join the owners' records by pseudonym and count them: each person once, and nobody else."""
    for study, people in after.people.items():
        digits: dict[bytes, dict[str, int]] = {}
        for name, release in after.sealed(study).items():
            table = after.columns(release["id"])
            keys = [bytes(key) for key in table.column(0).to_pylist()]
            if doubled := len(keys) - len(set(keys)):
                yield f"{study}/{name}: {doubled} records are there twice"
            for key, code in zip(keys, table.column(name).to_pylist(), strict=True):
                digits.setdefault(key, {})[name] = code
        counts = np.zeros((BASE,) * len(NAMES))
        for codes in digits.values():
            if set(codes) == set(NAMES):
                counts[tuple(codes[name] for name in NAMES)] += 1
        if not np.array_equal(counts, people.table):
            wrong = int(np.abs(counts - people.table).sum())
            yield f"{study}: {wrong} records are lost or counted twice in the files"


def _tables(after: Aftermath) -> Iterator[str]:
    """Compare the table that the miner's job counted."""
    for study, job in after.tables.items():
        counts = np.zeros((BASE,) * len(NAMES))
        for cell in _model(after, job)["cells"]:
            at = tuple(int(cell["values"][name].removeprefix("d")) for name in NAMES)
            counts[at] = cell["count"]
        if not np.array_equal(counts, after.people[study].table):
            wrong = float(np.abs(counts - after.people[study].table).sum())
            yield f"{study}: the job's table is wrong by {wrong:g} records"


def _jobs(after: Aftermath) -> Iterator[str]:
    jobs = {row["id"]: row for row in after.rows("SELECT id, state, model FROM jobs")}
    models = Counter(row["job"] for row in after.rows("SELECT job FROM models"))
    for job, row in jobs.items():
        expected = job.replace("j-", "m-", 1)
        if (row["state"], row["model"], models[job]) != ("succeeded", expected, 1):
            yield f"{job} is {row['state']} with model {row['model']}; {models[job]} models are its"
    for job, digest in after.first_seen.items():
        if models[job] and digest_of(_model(after, job)) != digest:
            yield f"{job}: its model is not what it was when it was first read"
    for job, again in after.again.items():
        if models[job] and _learned(_model(after, job)) != _learned(_model(after, again)):
            yield f"{job}: undisturbed it ends with another model"


def _files(after: Aftermath) -> Iterator[str]:
    found = {
        str(path.relative_to(after.data))
        for folder in _FOLDERS
        for path in (after.data / folder).rglob("*")
        if path.is_file()
    }
    sealed = (after.sealed(study).values() for study in after.people)
    wanted = {f"columns/{row['id']}.arrow" for rows in sealed for row in rows}
    for orphan in sorted(found - wanted):
        yield f"{orphan} belongs to no release"
    for missing in sorted(wanted - found):
        yield f"{missing} is not there"
    for row in after.rows("SELECT id, data_sha256 FROM releases WHERE state = 'sealed'"):
        path = after.data / "columns" / f"{row['id']}.arrow"
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() != row["data_sha256"]:
            yield f"columns/{path.name} is not as it was sealed"


def _audit(after: Aftermath) -> Iterator[str]:
    """Every release was sealed by somebody. A kill may leave half a line."""
    entries = []
    for line in (after.data / "audit.jsonl").read_bytes().splitlines():
        with suppress(ValueError):
            entries.append(json.loads(line))
    sealed = {
        entry["resource"].split("/")[3]
        for entry in entries
        if (entry.get("action"), entry.get("outcome")) == ("seal_release", 200)
    }
    for study in after.people:
        for row in after.sealed(study).values():
            if row["id"] not in sealed:
                yield f"nobody is noted to have sealed {row['id']}"


def _ledgers(after: Aftermath) -> Iterator[str]:
    """Each owner's ledger has its one release, sealed, with the draws of each column once."""
    for study, owners in after.owners.items():
        sealed = after.sealed(study)
        for owner in owners:
            told = [(e.name, e.state, e.release_id, e.records) for e in owner.ledger.entries()]
            row = sealed.get(owner.name)
            wanted = row and [(row["name"], "sealed", row["id"], row["records"])]
            if told != wanted:
                yield f"the ledger of {study}/{owner.name} says {told}, the miner {wanted}"
            drawn = [draw.column for entry in owner.ledger.entries() for draw in entry.draws]
            if sorted(drawn) != [owner.name, f"{owner.name}_ill"]:
                yield f"the ledger of {study}/{owner.name} has draws of {sorted(drawn)}"
            if list((owner.site.state / "outbox").glob(".unfinished-*")):
                yield f"{study}/{owner.name} has a release that is half written"


def _strays(after: Aftermath) -> Iterator[str]:
    until = time.monotonic() + 120
    while (found := marked(after.mark)) and time.monotonic() < until:
        if not any("forkserver" in line for line in found):
            break  # only the server that forked jobs may end after its service
        time.sleep(0.05)
    for line in found:
        yield f"still running: {line}"


def _model(after: Aftermath, job: str) -> dict[str, Any]:
    rows = after.rows("SELECT job, body FROM models")
    return next((json.loads(row["body"]) for row in rows if row["job"] == job), {"cells": []})


def _learned(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if name not in _OF_ITS_RUN}


def digest_of(model: Mapping[str, Any]) -> str:
    """Return a digest of a model as JSON."""
    return hashlib.sha256(json.dumps(model, sort_keys=True).encode()).hexdigest()

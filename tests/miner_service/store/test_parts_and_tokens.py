"""What is asked of parts and tokens has the same answer from both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from miner_service.intake.admission import require_within_quota
from miner_service.settings import Quotas
from miner_service.store.releases import parts_arrived, releases_of
from miner_service.store.schema import PartRow, ReleaseRow, StudyRow
from pramana_core.errors import LimitExceeded

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ARRIVED = {"r-1": (), "r-2": (0, 1, 2, 5, 7, 8), "r-3": range(10)}


@pytest.fixture
def filled(place, open_at):
    """A study with releases of ten parts, of which different ones arrived."""
    database = open_at(place)
    with database.write() as session:
        session.add(StudyRow(name="s", title="", created=NOW))
        session.flush()
        for number, (name, arrived) in enumerate(ARRIVED.items()):
            session.add(
                ReleaseRow(
                    id=name,
                    study="s",
                    owner="north",
                    name=name,
                    state="open",
                    kind="randomized-records",
                    content="{}",
                    content_digest="",
                    records=10,
                    digest="",
                    created=NOW + timedelta(days=number),
                )
            )
            session.flush()
            session.add_all(
                PartRow(
                    release=name,
                    number=part,
                    records=1,
                    bytes=10**9,
                    sha256="",
                    received=NOW + timedelta(days=9) if part in arrived else None,
                )
                for part in range(10)
            )
    return database


@pytest.mark.slow
def test_parts_and_quotas_are_asked_of_the_database(filled):
    with filled.read() as session:
        rows = releases_of(session, "s", "north")
        assert parts_arrived(session, rows) == {
            name: (10, list(arrived)) for name, arrived in ARRIVED.items()
        }
        assert parts_arrived(session, []) == {}
        require_within_quota(session, Quotas(stored_bytes=10**9), "s", "south")
        with pytest.raises(LimitExceeded):
            require_within_quota(session, Quotas(stored_bytes=10**10), "s", "north")

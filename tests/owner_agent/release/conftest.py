"""Benches: one after a release, with a corrected table, and one that masks or shares a tree."""

import shutil

import pytest

from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from tests.owner_agent.release.kinds import KINDS


@pytest.fixture
def left(bench, table_text):
    """The bench after a release, with a copy of its state; 22 smokers are corrected since."""
    publish(PreparedRecords, bench.site, bench.environment, PublishOptions())
    shutil.copytree(bench.state, bench.folder / "backup")
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench


@pytest.fixture
def shop(bench):
    """A site that masks two columns and has joined its study."""
    KINDS["masked"].write(bench)
    return bench


@pytest.fixture
def clinic(bench):
    """A site that shares a tree and has joined its study."""
    KINDS["tree"].write(bench)
    return bench

"""A bench whose table was corrected after a release."""

import shutil

import pytest

from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish


@pytest.fixture
def left(bench, table_text):
    """The bench after a release, with a copy of its state; 22 smokers are corrected since."""
    publish(PreparedRecords, bench.site, bench.environment, PublishOptions())
    shutil.copytree(bench.state, bench.folder / "backup")
    bench.write(table=table_text(50).replace(",yes,", ",no,"))
    return bench

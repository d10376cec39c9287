"""A shop with customers whose spending is confidential."""

from __future__ import annotations

import pytest

from tests.owner_agent.release.kinds import KINDS, MASK


@pytest.fixture
def rows():
    """120 customers."""
    return list(KINDS["masked"].rows)


@pytest.fixture
def shop(bench):
    """A site that masks two columns and has joined its study."""
    KINDS["masked"].write(bench)
    return bench


@pytest.fixture
def site_text():
    """The site file of the shop."""
    return MASK


@pytest.fixture
def written():
    """The maker of a table of rows."""
    return KINDS["masked"].table

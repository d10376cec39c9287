"""A clinic whose diagnoses follow from age and ward, up to some noise."""

from __future__ import annotations

import pytest

from tests.owner_agent.release.kinds import KINDS, PRIVATE, TREE


@pytest.fixture
def rows():
    """300 patients."""
    return list(KINDS["tree"].rows)


@pytest.fixture
def clinic(bench):
    """A site that shares a tree and has joined its study."""
    KINDS["tree"].write(bench)
    return bench


@pytest.fixture
def site_text():
    """The site file of the clinic."""
    return TREE


@pytest.fixture
def private_text():
    """The site file of the clinic, its tree private."""
    return PRIVATE


@pytest.fixture
def written():
    """The maker of a table of rows."""
    return KINDS["tree"].table

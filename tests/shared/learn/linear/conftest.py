"""What tests of linear classifiers leave out that do not look at it."""

from __future__ import annotations

import pytest

from pramana_core.learn.linear import fitting


@pytest.fixture
def no_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accuracy, which takes most of the time, is not estimated."""
    monkeypatch.setattr(fitting, "JUDGED_NUMBERS", 0)

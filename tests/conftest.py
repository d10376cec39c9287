"""Fixtures for every test: how a random result is compared with what it should be."""

from __future__ import annotations

import gc
import logging
import os
import shutil
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from scipy import stats

_MEMORY, _ROOM = Path("/dev/shm"), 8 << 30
"""A file system in memory, where writing through to the disk, which agents and the service do after
every step, waits for nothing; and the bytes that must be free there."""


def _takes_folders() -> bool:
    """Whether tests may have their folders in memory: there is room, and programs may run there."""
    if not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _ROOM:
        return False
    return not os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC


if _takes_folders():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")

AssertDistribution = Callable[..., None]


@pytest.fixture(autouse=True)
def _log_of_the_process() -> Generator[None]:
    """Undo what a test's command did to the log, or later tests write to its closed stream."""
    handlers, service, loop = map(logging.getLogger, (None, "miner_service", "asyncio"))
    before = handlers.handlers[:], service.level, loop.filters[:]
    yield
    handlers.handlers[:], service.level, loop.filters[:] = before


_FOLDER = pytest.StashKey[Path]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Have the tests' folders taken out of memory at the very end, unless a test failed."""
    config = session.config
    if exitstatus == 0 and not hasattr(config, "workerinput"):
        config.stash[_FOLDER] = config._tmp_path_factory.getbasetemp()


def pytest_configure(config: pytest.Config) -> None:
    """Remove them when all that was started once for all tests has ended."""

    def removed() -> None:
        folder = config.stash.get(_FOLDER, None)
        if folder is not None and folder.is_relative_to(_MEMORY):
            shutil.rmtree(folder, ignore_errors=True)

    config.add_cleanup(removed)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: many tests wait for processes of their own."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: what is imported stays, and is not looked at again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _assert_distribution(
    observed: npt.ArrayLike, expected: npt.ArrayLike, false_alarm: float = 1e-6
) -> None:
    """Fail if counts could not have come from expected counts.

    Pearson's chi-square over all cells. A correct program fails with probability `false_alarm`;
    where nothing is expected nothing may be observed.
    """
    seen = np.asarray(observed, dtype=float).ravel()
    wanted = np.asarray(expected, dtype=float).ravel()
    assert seen.shape == wanted.shape
    possible = wanted > 0
    assert not seen[~possible].any(), "something impossible was observed"
    assert wanted[possible].min() >= 5, "too little is expected of a cell for a chi-square test"
    assert np.isclose(seen.sum(), wanted.sum()), "the totals differ"
    statistic = float(((seen - wanted)[possible] ** 2 / wanted[possible]).sum())
    limit = float(stats.chi2.isf(false_alarm, max(1, possible.sum() - 1)))
    assert statistic <= limit, f"chi-square {statistic:.1f} is above {limit:.1f}"


@pytest.fixture
def assert_distribution() -> AssertDistribution:
    """Return the helper `(observed, expected, false_alarm=1e-6)`."""
    return _assert_distribution


@pytest.fixture(scope="session")
def quick(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Any]:
    """Return `quick(name)`: the one `QuickRun` of an experiment of `pramana reproduce`."""
    from tests.quick_runs import kept_by_all, quick_run

    kept = kept_by_all(pytestconfig, tmp_path_factory)
    return lambda name: quick_run(name, kept)

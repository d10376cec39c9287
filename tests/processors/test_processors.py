"""The short form of `make processors`: two kernels of OpenBLAS, other processors' in part.

What formerly hung on the kernel is run under each, and each learner must learn what it learns here.
On a processor or with a BLAS that has not these kernels that is skipped, and says so; there the
nudged learners of `test_near_ties.py`, which `make test` runs everywhere, are what is compared.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from benchmarks import processors
from benchmarks.processors import SHORT, WITHOUT, Setting, answered, failures, instead, settings
from tests.places import ROOT
from tests.processors.learners import LEARNERS, designed_sets, learned, shared_tree

OLDEST = "Prescott"
"""Of `SHORT`: the kernel least like those of today; numpy goes without AVX."""

_TABLE = "--table table.csv --target v1"
NOTEBOOK = "tests/docs/test_notebooks.py::test_a_notebook_prints_what_is_stored[custodian]"
FORMERLY = (
    *(
        f"tests/pins/test_pinned_figures.py::test_figures[{name}]"
        for name in ("ma-6.1", "ma-3.1.2")
    ),
    *(
        f"tests/pins/test_pinned_simulations.py::test_simulations[{command} --gamma 100 --runs 2]"
        for command in (
            f"tree {_TABLE} --design independent",
            f"tree {_TABLE} --design gamma-diagonal",
            f"linear {_TABLE} --design auto",
        )
    ),
)
"""What another kernel made fail, before near ties went by an order, besides the notebook."""


@functools.cache
def short() -> dict[str, Setting]:
    """Return the settings of the short form by kernel: with one thread, and numpy goes along."""
    return {one.kernel: one for one in settings(SHORT, [1]) if one.without}


@pytest.fixture
def setting(request: pytest.FixtureRequest) -> Setting:
    found = short()[request.param]
    if other := instead(found):
        pytest.skip(
            f"no kernel {found.kernel} here (but {other}), nothing is compared under it;"
            " of rounding the learners are tested by test_near_ties.py, which runs everywhere"
        )
    return found


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("setting", "tests"),
    [
        pytest.param(OLDEST, FORMERLY, id=OLDEST),
        *(
            pytest.param(one, (NOTEBOOK, *FORMERLY), id=f"{one}-all", marks=pytest.mark.campaign)
            for one in SHORT
        ),
    ],
    indirect=["setting"],
)
def test_what_is_pinned_is_the_same_under_another_kernel(setting: Setting, tests: tuple[str, ...]):
    """Under the kernel least like those of today; under the others learners are held below."""
    assert failures(setting, tests, "0") == []


@pytest.mark.end_to_end
@pytest.mark.parametrize("setting", SHORT, indirect=True)
def test_learners_learn_the_same_under_another_kernel(setting: Setting):
    done = subprocess.run(
        [sys.executable, "-m", "tests.processors.learners"],
        cwd=ROOT,
        env=setting.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    here = {name: learned(name) for name in LEARNERS}
    assert json.loads(done.stdout) == here | {"shared": shared_tree(), "sets": designed_sets()}


def test_a_kernel_that_is_not_there_is_not_claimed(monkeypatch, capsys):
    """OpenBLAS silently takes another; the run says so, runs nothing and is no success."""
    monkeypatch.setattr(processors, "failures", _never)
    monkeypatch.setattr(sys, "argv", ["processors", "--kernels", "Nonesuch", "--threads", "1"])
    assert processors.main() == 1
    assert "not here: OpenBLAS takes" in capsys.readouterr().out


@pytest.mark.parametrize(("failed", "code"), [([], 0), (["tests/test_x.py::test_y"], 1)])
def test_what_fails_is_named_and_no_success(monkeypatch, capsys, failed: list[str], code: int):
    monkeypatch.setattr(processors, "failures", lambda *_: failed)
    monkeypatch.setattr(processors, "answered", _as_asked)
    monkeypatch.setattr(sys, "argv", ["processors", "--kernels", "Haswell", "--threads", "1", "2"])
    assert processors.main() == code
    out = capsys.readouterr().out
    assert all(name in out for name in failed)
    assert f"3 settings run, {3 * code} with failures" in out


def test_numpy_goes_without_what_is_switched_off():
    for setting in short().values():
        _, features = answered(setting.environment)
        assert not set(features) & set(WITHOUT[setting.without][0])


def _as_asked(environment: dict[str, str]) -> tuple[set[str], list[str]]:
    return {environment.get("OPENBLAS_CORETYPE", "SkylakeX")}, []


_never: Callable[..., list[str]] = pytest.fail

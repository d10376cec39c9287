"""Records that stand alone: they keep noise, and their own values weigh little."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.errors import MaskingError, OptionError
from pramana_core.mask import nmegadp
from pramana_core.mask.methods.learned import TAKEN, with_vectors
from pramana_core.mixed.design import leverages


def humps(seed: int, records: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """S of three columns, and two humps with uneven noise."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(records, 3))
    hump = sum(2 * np.exp(-2 * (s[:, 0] - at) ** 2) for at in (-1.2, 1.2))
    return s, hump + 0.5 * s[:, 1] + rng.normal(size=records) * (0.3 + 0.3 * np.abs(s[:, 1]))


def test_noise_is_left_to_every_record():
    rng = np.random.default_rng(1)
    base = np.linalg.qr(np.column_stack([np.ones(300), rng.normal(size=(300, 2))]))[0]
    # The first three records have vectors of their own.
    vectors = np.zeros((300, 6))
    vectors[[0, 1, 2], [0, 1, 2]] = 1.0
    vectors[:, 3:] = rng.normal(size=(300, 3))
    vectors = np.linalg.qr(vectors)[0]
    plain = np.linalg.qr(np.column_stack([base, vectors]))[0]
    assert leverages(plain)[:3].min() > 0.9
    found = with_vectors(base, vectors)
    assert found.T @ found == pytest.approx(np.eye(found.shape[1]), abs=1e-9)
    assert leverages(found).max() <= TAKEN
    assert found[:, :3] == pytest.approx(base)
    # What is not theirs is kept.
    rest = vectors[3:, 3:] - found[3:] @ (found.T @ vectors[:, 3:])
    assert np.sum(rest**2) < 0.05


def test_where_no_record_stands_alone_all_is_kept():
    rng = np.random.default_rng(2)
    base = np.full((200, 1), 200**-0.5)
    vectors = np.linalg.qr(rng.normal(size=(200, 5)))[0]
    found = with_vectors(base, vectors)
    assert found @ (found.T @ vectors) == pytest.approx(vectors)
    assert with_vectors(base, np.empty((200, 0))) == pytest.approx(base)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_lone_records_have_noise_and_little_weight(seed: int):
    masked = nmegadp(*humps(seed), np.random.default_rng(seed))
    influence = masked.influence
    assert influence is not None
    assert influence.noises.min() > 0.5
    assert influence.told.max() < 0.4
    assert masked.details["held_back"] > 5


@pytest.mark.slow
def test_a_bound_can_be_demanded_and_is_kept_or_refused():
    s, x = humps(4)
    for most in (0.2, 0.05):
        masked = nmegadp(s, x, np.random.default_rng(1), max_told=most)
        assert masked.influence is not None
        assert masked.influence.told.max() <= most
    with pytest.raises(MaskingError, match=r"Of \d+ records the masked values would tell"):
        nmegadp(s, x, np.random.default_rng(1), max_told=1e-5)
    with pytest.raises(OptionError, match="max_told must be above 0 and below 1, not 1"):
        nmegadp(s, x, np.random.default_rng(1), max_told=1)


@pytest.mark.parametrize("wrong", ["a", True, float("nan"), [0.1], 0.0])
def test_a_bound_that_is_none_is_refused_by_its_name(wrong: object):
    with pytest.raises(OptionError, match="max_told must be .*above 0 and below 1") as told:
        nmegadp(*humps(4, 50), np.random.default_rng(1), max_told=wrong)
    assert told.value.where == "max_told"

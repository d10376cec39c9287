"""Security indices: what a snooper with S, and with S and Y, does not know."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.mask.measures.security_rows import security_index, variance_index


def test_nothing_stays_unknown_if_y_is_x():
    s, x = np.random.default_rng(1).standard_normal((2, 100, 2))
    found = security_index(s, x, 3 * x)
    assert found.value == pytest.approx(0, abs=1e-9)
    assert found.without > 0.8


def test_one_column_is_one_less_r2():
    rng = np.random.default_rng(2)
    s, y = rng.standard_normal((2, 200, 1))
    x = s + y + rng.standard_normal((200, 1))
    for columns, found in ((s, "without"), (np.column_stack([s, y]), "value")):
        design = np.column_stack([np.ones(200), columns])
        rest = x - design @ np.linalg.lstsq(design, x)[0]
        expected = float(np.sum(rest**2) / np.sum((x - x.mean()) ** 2))
        assert getattr(security_index(s, x, y), found) == pytest.approx(expected)


def test_exact_noise_leaves_what_s_leaves(humped):
    from pramana_core.mask.methods.gadp import egadp

    s, x = humped(3)
    found = security_index(s, x, egadp(s, x, np.random.default_rng(4)).matrix)
    assert found.value == pytest.approx(found.without, abs=1e-9)


def test_the_older_index_does_not_see_a_factor():
    x = np.random.default_rng(5).standard_normal((50, 2))
    assert variance_index(x, x) == pytest.approx([0, 0])
    assert variance_index(x, 3 * x) == pytest.approx([4, 4])

"""What tells two truths apart best under subset selection, without listing its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import SubsetSelection
from pramana_core.privacy.shuffling import contrast, total_variation


@pytest.mark.parametrize(("size", "gamma"), [(6, 1.5), (7, 2.0), (20, 3.0), (65, 19.0)])
def test_it_is_that_of_the_listed_matrix(size: int, gamma: float):
    channel = SubsetSelection.from_gamma(size, gamma)
    matrix = channel.matrix()
    apart = np.abs(matrix[:, None] - matrix[None]).sum(axis=2) / 2
    assert total_variation(channel) == pytest.approx(apart.max(), rel=1e-12)
    found = contrast(channel)
    listed = []
    for second in range(1, size):
        kinds = matrix[0] > matrix[second], matrix[0] < matrix[second]
        sums = np.stack([matrix[:, kind].sum(axis=1) for kind in kinds], axis=1)
        listed.append(sums[[0, second, int(sums.sum(axis=1).argmin())]])
    assert min(np.abs(found - one).max() for one in listed) < 1e-12

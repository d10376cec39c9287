"""The sampler is exact: each report is drawn for exactly as many draws as the matrix says."""

import numpy as np
import pytest

from owner_agent.randomize.sampling import true_cells, unit_sampler
from owner_agent.randomize.words import UniformWords
from pramana_core.channels import RESOLUTION, Dense, Grouped, Identity, Symmetric
from pramana_core.domain import Variable
from pramana_core.plan import Block
from tests.owner_agent.randomize.drawing import sample, sample_block

WIDE = np.random.default_rng(5).dirichlet(np.ones(40), size=40)

FAMILIES = {
    "identity": Identity(3),
    "symmetric": Symmetric.from_probability(5, 0.3),
    "symmetric-binary": Symmetric.from_probability(2, 0.25),
    "symmetric-anti": Symmetric.from_probability(4, 0.99),
    "symmetric-never": Symmetric(3, 0),
    "symmetric-always-moved": Symmetric(2, RESOLUTION),
    "symmetric-never-kept": Symmetric.from_probability(3, 1.0),
    "symmetric-finest": Symmetric(4, 1),
    "gamma": Symmetric.from_gamma(300, 19.0),
    "binary": Dense.binary(0.1, 0.25),
    "ternary": Dense.ternary(0.1, 0.25),
    "zeros": Dense.from_probabilities([[0, 1, 0], [0.5, 0, 0.5], [0, 0, 1]]),
    "finest": Dense(((1, RESOLUTION - 1), (RESOLUTION - 1, 1))),
    "wider": Dense.from_probabilities([[0.5, 0.25, 0.25], [0.0, 0.25, 0.75]]),
    "dense-many": Dense.from_probabilities(WIDE.tolist()),
    "grouped": Grouped.from_probability([[3, 0], [1], [4, 2, 5]], 0.3),
    "grouped-mixed": Grouped(
        ((4, 1, 2), (0, 3)), (Dense.ternary(0.2, 0.3), Symmetric.from_probability(2, 0.1))
    ),
}


def _words(draws):
    """Return words of which only the first is known: a unit channel may ask for no other."""

    def source(counter, inputs):
        assert counter == 0
        return np.stack([inputs, *[np.full(len(inputs), 0xDEAD, np.uint32)] * 3], axis=1)

    return UniformWords(source, np.asarray(draws, dtype=np.uint32))


def _intervals(channel, code):
    """Walk the draws from 0 and return (report, how many draws in a row give it) for a truth."""
    sampler, codes = unit_sampler(channel), np.array([code], np.uint16)

    def report(draw):
        return int(sampler(codes, _words([draw]))[0])

    start, found = 0, []
    while start < RESOLUTION:
        here, low, high = report(start), start, RESOLUTION
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if report(middle) == here else (low, middle)
        found.append((here, high - start))
        start = high
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_each_report_has_exactly_its_share_of_draws(name):
    channel = FAMILIES[name]
    units = channel.units()
    for code in range(0, len(units), max(1, len(units) // 7)):
        found = _intervals(channel, code)
        shares = np.zeros(units.shape[1], dtype=np.int64)
        for report, draws in found:
            shares[report] += draws
        assert shares.tolist() == units[code].tolist()
        assert len(found) == np.count_nonzero(units[code]), "a report's draws are not contiguous"


def test_a_joint_block_is_one_channel_over_the_product():
    variables = (Variable("sex", ("f", "m")), Variable("income", ("low", "mid", "high")))
    block = Block(variables, Symmetric.from_gamma(6, 5.0))
    rng = np.random.default_rng(2)
    sex = rng.integers(0, 2, 500).astype(np.uint8)
    income = rng.integers(0, 3, 500).astype(np.uint8)
    draws = rng.integers(0, RESOLUTION, 500, dtype=np.uint32)
    cells = true_cells(block, {"sex": sex, "income": income})
    assert cells.tolist() == (sex * 3 + income).tolist()
    reported = sample_block(block, cells, _words(draws))
    assert (reported["sex"] * 3 + reported["income"]).tolist() == sample(
        block.channel, cells, _words(draws)
    ).tolist()

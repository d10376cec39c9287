"""The records of a release are known again by a sample of their pseudonyms."""

from dataclasses import dataclass

import numpy as np
import pytest

from owner_agent.release.ledger import Draw, Form
from owner_agent.release.populations import population_of, same_records, sketch_of
from pramana_core.wire.base import KEY_BYTES


def _ascending(*keys):
    return np.sort(np.concatenate(keys).view(f"S{KEY_BYTES}")).view(f"V{KEY_BYTES}")


def _keys(count, seed=1):
    drawn = np.random.default_rng(seed).bytes(KEY_BYTES * count)
    return _ascending(np.frombuffer(drawn, f"V{KEY_BYTES}"))


def _some(keys, seed=3):
    """Return pseudonyms in another order: their first are a random part of them."""
    return np.random.default_rng(seed).permutation(keys)


@dataclass(frozen=True)
class Earlier:
    """What `populations` looks at of a ledger entry."""

    sketch: bytes
    records: int
    draws: tuple[Draw, ...] = ()
    left: bool = True


def _earlier(keys, draws=()):
    return Earlier(sketch_of(keys), len(keys), tuple(draws))


@pytest.mark.parametrize("count", [20, 200, 5_000])
def test_records_may_come_or_go(count):
    keys = _keys(count)
    earlier = _earlier(keys)
    assert same_records(earlier, keys)
    assert same_records(earlier, _ascending(_keys(90_000, seed=2), keys)), "more came"
    assert same_records(earlier, _ascending(_some(keys)[: count // 4])), "most went"


@pytest.mark.parametrize("count", [20, 200, 5_000])
@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
def test_records_under_other_ids_are_not_the_same(count, share):
    keys, others = _keys(count), _keys(count, seed=2)
    renamed = round(share * count)
    mixed = _ascending(_some(keys)[renamed:], _some(others)[:renamed])
    assert not same_records(_earlier(keys), mixed)


def _draw(population):
    return Draw("a", "A", "d", 1.5, Form.RANDOMIZED, population)


def test_a_population_is_known_by_all_its_releases():
    keys, others = _keys(1_000), _keys(1_000, seed=2)
    few = _ascending(_some(keys)[:5])
    pilot, whole = _earlier(few, [_draw("p")]), _earlier(keys, [_draw("p")])
    assert population_of(keys, "d", [pilot, whole]) == "p"
    mixed = _ascending(few, others)
    assert population_of(mixed, "d", [pilot]) == "p"
    assert population_of(mixed, "d", [pilot, whole]) != "p"
    assert population_of(mixed, "another draw", [pilot, whole]) != "p"
    second = _earlier(others, [_draw("q")])
    assert population_of(keys, "d", [whole, second]) == "p"
    assert population_of(others, "d", [whole, second, whole]) == "q"
    kept_back = Earlier(whole.sketch, 1_000, whole.draws, left=False)
    assert population_of(keys, "d", [kept_back]) != "p"

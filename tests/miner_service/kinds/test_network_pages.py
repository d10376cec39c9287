"""The page of a large network begins with what matters, and has each variable by itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from miner_service.kinds import networks
from pramana_core.domain import Domain
from pramana_core.learn.networks.documents import NetworkDocument
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink


def _chain(nodes: int) -> NetworkDocument:
    names = [f"v{k:02}" for k in range(nodes)]
    parents = {name: tuple(names[max(k - 1, 0) : k]) for k, name in enumerate(names)}
    tables = {name: np.full((2,) * (1 + len(parents[name])), 0.5) for name in names}
    domain = Domain.of(**{name: ["a", "b"] for name in names})
    links = [
        LearnedLink(parent, child, gain=float(k), inflation=1.0, confidence=0.9, compelled=False)
        for k, (parent, child) in enumerate(pairwise(names))
    ]
    return NetworkDocument(BayesNet(domain, Structure.of(parents), tables), tuple(links))


def test_the_links_worth_most_are_drawn_first():
    picture = networks._first(_chain(23))
    assert "v21 → v22" in picture
    assert "v09 → v10" not in picture
    assert picture.count("→") == 12


@pytest.mark.parametrize(("nodes", "around"), [(8, 0), (23, 23), (61, 0)])
def test_each_variable_of_a_large_network_has_a_picture_around_it(nodes, around):
    found = networks._around(_chain(nodes))
    assert len(found) == around
    if found:
        node, others, picture = found[1]
        assert (node, others, picture.count("→")) == ("v01", "v00, v02", 2)

"""Structures as people give them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import pramana as pm
from pramana.exchange import load
from pramana.networks import structure_of
from pramana_core.domain import Domain
from pramana_core.errors import StructureError
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.networks.documents import given_network, network_json
from pramana_core.learn.networks.network import BayesNet as Network
from pramana_core.learn.networks.structure import Structure

WANTED = {"a": [], "b": ["a"], "c": ["a", "b"]}
LINKS = [("a", "b"), ("a", "c"), ("b", "c")]


def graph() -> nx.DiGraph:
    return nx.DiGraph(LINKS)


def fitted() -> pm.BayesNet:
    tables = {node: np.full((2,) * (len(given) + 1), 0.5) for node, given in WANTED.items()}
    network = Network(Domain.of(a="01", b="01", c="01"), Structure.of(WANTED), tables)
    return pm.BayesNet.from_json(write_json(network_json(given_network(network))))


def pgmpy_model() -> object:
    return load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork(LINKS)


@pytest.mark.parametrize(
    "given",
    [
        lambda: WANTED,
        lambda: {"b": ["a"], "c": ("a", "b")},
        lambda: LINKS,
        lambda: tuple(map(list, LINKS)),
        lambda: Structure.of(WANTED),
        fitted,
        graph,
        pgmpy_model,
    ],
    ids=[
        "dict", "dict without roots", "links", "lists", "ours", "estimator", "networkx", "pgmpy",
    ],
)  # fmt: skip
def test_forms_of_a_structure_mean_the_same(given):
    found = structure_of(given())
    assert set(found.links) == set(LINKS)
    assert set(found.nodes) == set(WANTED)
    assert set(pm.BayesNet(given()).structure_.links) == set(LINKS)


def test_variables_without_a_link_are_nodes():
    assert structure_of([("a", "b")], ["b", "z"]).as_dict() == {"a": [], "b": ["a"], "z": []}
    assert structure_of([], ["z"]).nodes == ("z",)


@pytest.mark.parametrize(
    "given",
    [
        3,
        {"b": "a"},
        [("a", "b", "c")],
        [("a", "b"), ("b", "a")],
        [],
        nx.Graph(LINKS),
        pd.DataFrame(LINKS),
    ],
)
def test_an_invalid_structure_is_refused(given: object):
    with pytest.raises(StructureError):
        structure_of(given)

"""Networks as JSON, BIF, CSV and pictures: nothing is lost, and what is wrong is refused."""

from __future__ import annotations

import json
import math
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pytest

from pramana_core.domain import Domain, Variable
from pramana_core.errors import (
    ChannelError,
    InputError,
    OptionError,
    PramanaError,
    StructureError,
    UnknownCategory,
    UnknownVariable,
)
from pramana_core.learn.common.documents import write_json
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.networks.documents import given_network, network_json, network_of_json
from pramana_core.learn.networks.drawing import draw_structure
from pramana_core.learn.networks.network import CHUNK, BayesNet, sample_chunks
from pramana_core.learn.networks.structure import Structure
from pramana_core.learn.networks.structure_learning import LearnedLink
from tests.places import DATA

NETWORKS = DATA / "networks"
ODD = ('comma, quote " and\nline', "NA", "é<&>")


def odd_network() -> BayesNet:
    """Odd labels, representatives, parents in another order than the nodes, awkward numbers."""
    domain = Domain(
        (
            Variable("age, in years", ("<18", "18+"), (9.5, 1 / 3)),
            Variable('"odd"', ODD),
            Variable("c", ("p", "q", "r")),
        )
    )
    structure = Structure.of({'"odd"': [], "c": ["age, in years", '"odd"'], "age, in years": []})
    rng = np.random.default_rng(4)
    tables = {
        "age, in years": np.array([0.1, 0.9]),
        '"odd"': np.array([1e-300, 1 / 3, 2 / 3]),
        "c": rng.dirichlet(np.ones(3), size=(2, 3)),
    }
    return BayesNet(domain, structure, tables)


UNKNOWN = dict.fromkeys(("gain", "inflation", "confidence", "compelled"))
SELF = {"parent": "c", "child": "c"}
LINKS = (
    LearnedLink("age, in years", "c", 1 / 3, math.inf, None, False),
    LearnedLink('"odd"', "c", 12.5, 3.25, 0.875, True),
)


# JSON ---------------------------------------------------------------------------------------------


def same(a: BayesNet, b: BayesNet) -> bool:
    return (
        a.domain.project(a.structure.nodes) == b.domain.project(a.structure.nodes)
        and a.structure == b.structure
        and all(np.array_equal(a.tables[n], b.tables[n]) for n in a.structure.nodes)
    )


def write(network: BayesNet, links: Sequence[LearnedLink] = ()) -> str:
    return write_json(network_json(given_network(network), links))


def test_json_loses_nothing():
    network = odd_network()
    text = write(network, LINKS)
    again = network_of_json(json.loads(text))
    assert same(network, again.network)
    assert again.links == LINKS
    assert again.confidence == {('"odd"', "c"): 0.875, ("age, in years", "c"): None}
    assert write(again.network, again.links) == text
    assert "Infinity" not in text


def changed(**changes: object) -> str:
    document = json.loads(write(odd_network(), LINKS))
    document.update(changes)
    return json.dumps(document)


def with_node(**changes: object) -> str:
    document = json.loads(write(odd_network(), LINKS))
    document["nodes"][0].update(changes)
    return json.dumps(document)


def with_parameter(**changes: object) -> str:
    document = json.loads(write(odd_network(), LINKS))
    document["parameters"][0].update(changes)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[]", InputError),
        ("{}", InputError),
        (changed(kind="tree"), InputError),
        (with_node(parents=["z"]), StructureError),
        (with_node(parents=["c"]), StructureError),
        (changed(links=[{**dict.fromkeys(UNKNOWN, 1), **SELF}]), InputError),
        (with_parameter(probability=0.7), ChannelError),
        (with_parameter(probability="a"), InputError),
        (with_parameter(node="z"), UnknownVariable),
        (with_parameter(value="z"), UnknownCategory),
        (with_parameter(parents={"z": "1"}), InputError),
        (changed(parameters=[]), InputError),
    ],
)
def test_an_invalid_document_is_refused(text: str, error: type[PramanaError]):
    with pytest.raises(error):
        network_of_json(json.loads(text))


# BIF ----------------------------------------------------------------------------------------------


@pytest.mark.public_data
@pytest.mark.parametrize(
    ("name", "nodes", "links", "free"), [("asia", 8, 8, 18), ("alarm", 37, 46, 509)]
)
def test_the_public_networks_are_read_as_by_pgmpy(name: str, nodes: int, links: int, free: int):
    file = NETWORKS / f"{name}.bif"
    if not file.exists():
        pytest.skip("the public networks are not here")
    network = read_bif(file.read_text())
    structure = network.structure
    assert (len(structure.nodes), len(structure.links)) == (nodes, links)
    assert sum(t.size - t.size // t.shape[-1] for t in network.tables.values()) == free
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        model = BIFReader(str(file)).get_model()
    for node, parents in structure.families:
        theirs = model.get_cpds(node)
        places = [
            [theirs.state_names[name].index(label) for label in network.domain[name].categories]
            for name in theirs.variables
        ]
        axes = [theirs.variables.index(name) for name in (*parents, node)]
        table = theirs.values[np.ix_(*places)].transpose(axes)
        np.testing.assert_allclose(network.tables[node], table, atol=1e-7)


BIF = """network n { }
variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 2 ] { u, v }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (x) 0.5, 0.5; (y) 0.2, 0.8; }
"""


@pytest.mark.parametrize(
    ("old", "new", "error", "where"),
    [
        ("(y) 0.2, 0.8;", "", InputError, "b"),
        ("(y) 0.2, 0.8;", "(y) 0.2;", InputError, "b"),
        ("(y) 0.2, 0.8;", "(y) 0.2, z;", InputError, "b"),
        ("(y) 0.2, 0.8;", "(y) 0.2, 0.9;", ChannelError, "b"),
        ("(y) 0.2, 0.8;", "(y) 0.2, 0.78;", ChannelError, "b"),
        ("(y) 0.2, 0.8;", "(y) 1.2, -0.2;", ChannelError, "b"),
        ("(y) 0.2, 0.8;", "(y) nan, 0.8;", ChannelError, "b"),
        ("(y)", "(z) 0.5, 0.5; (y)", InputError, "b"),
        ("(y)", "(x) 0.5, 0.5; (y)", InputError, "b"),
        ("(y)", "table 0.5, 0.5, 0.5, 0.5; (y)", InputError, "b"),
        ("table 0.25, 0.75;", "table 0.25;", InputError, "a"),
        ("table 0.25, 0.75;", "", InputError, "a"),
        ("table 0.25, 0.75;", "table 0.25, 0.7;", ChannelError, "a"),
        ("probability ( a ) {", "property { ", InputError, None),
        ("probability ( a ) { table 0.25, 0.75; }", "", InputError, "a"),
        (
            "probability ( a )",
            "probability ( a ) { table 1, 0; } probability ( a )",
            InputError,
            "a",
        ),
        ("probability ( a )", "probability ( q ) { } probability ( a )", InputError, "q"),
        ("variable b", "variable a { type discrete [2] { u, v }; } variable b", InputError, "a"),
        ("[ 2 ] { u, v }", "[ 3 ] { u, v }", InputError, "b"),
        ("[ 2 ] { x, y }", "[ 2 ] { x, y, z }", InputError, "a"),
        ("{ u, v }", '{ u, "v }', InputError, None),
    ],
)
def test_a_fault_in_bif_is_refused_with_its_node(old, new, error, where):
    assert BIF.count(old) >= 1
    with pytest.raises(error) as caught:
        read_bif(BIF.replace(old, new))
    assert caught.value.where == where
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(", "( "),
        ("network n { }", 'network "n" { property "home http://a.org/b#c" ; }'),
        ("[ 2 ] { x, y };", '[2] { "x" "y" }; property "see https://a.org/{1;2}, \'b\' // c" ;'),
        ("{ x, y };", "{ x, y }; property source http://a.org/b ;"),
        ("0.75; }", '0.75; } // the "rest" of http://a.org'),
        ("0.75; }", "0.75;//a comment\n/* another\n */ }"),
        ("(x) 0.5, 0.5; (y) 0.2, 0.8;", "(y) 0.2, 0.8; (x) 0.5, 0.5;"),
        ("( b | a ) { (x) 0.5, 0.5; (y) 0.2, 0.8; }", '( "b" "a" ) { table 0.5 0.2 0.5 0.8 ; }'),
        ("(x) 0.5, 0.5; (y) 0.2, 0.8;", '("y") 0.2 0.8; default 0.5 0.5;'),
        ("\n", "\r\n"),
    ],
)
def test_other_ways_to_write_the_same_bif(old: str, new: str):
    assert BIF.count(old) >= 1
    assert same(read_bif(BIF.replace(old, new)), read_bif(BIF))


# Synthetic records --------------------------------------------------------------------------------


def drawn(network: BayesNet, records: int, seed: int) -> dict[str, np.ndarray]:
    chunks = list(sample_chunks(network, records, seed))
    return {name: np.concatenate([c[name] for c in chunks]) for name in network.structure.nodes}


def test_a_seed_decides_the_records():
    network = odd_network()
    first, again, other = (drawn(network, 500, seed) for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    more, fewer = drawn(network, CHUNK + 5, 1), drawn(network, CHUNK, 1)
    assert all((more[name][:CHUNK] == fewer[name]).all() for name in fewer)


def test_synthetic_records_follow_the_network(assert_distribution):
    network = BayesNet(
        Domain.of(a="xy", b="uvw"),
        Structure.of({"b": ["a"], "a": []}),
        {"a": np.array([0.25, 0.75]), "b": np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])},
    )
    codes = drawn(network, 100_000, 5)
    seen = np.bincount(3 * codes["a"].astype(np.intp) + codes["b"], minlength=6)
    joint = np.array([0.125, 0.0625, 0.0625, 0.075, 0.15, 0.525])
    assert_distribution(seen, 100_000 * joint)
    with pytest.raises(AssertionError):
        assert_distribution(seen, 100_000 * joint[[0, 1, 2, 4, 3, 5]])


@pytest.mark.parametrize(("records", "seed", "where"), [(0, 1, "records"), (5, -1, "seed")])
def test_records_that_cannot_be_drawn(records: int, seed: int, where: str):
    with pytest.raises(OptionError) as caught:
        sample_chunks(odd_network(), records, seed)
    assert caught.value.where == where


# Pictures -----------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def picture(structure: Structure, **options) -> ET.Element:
    return ET.fromstring(draw_structure(structure, **options).svg())


def test_links_show_their_confidence():
    structure = Structure.of({"a": [], "<b>": ["a"], "c": ["a", "<b>"]})
    confidence = {("a", "<b>"): 1.0, ("a", "c"): 0.4, ("<b>", "c"): None}
    root = picture(structure, confidence=confidence)
    drawn = {}
    for group in root.iter(f"{SVG}g"):
        path = group.find(f"{SVG}path")
        if path is not None:
            title = str(group.findtext(f"{SVG}title"))
            drawn[title.split(":")[0]] = (
                title,
                float(group.get("opacity", 0)),
                float(path.get("stroke-width", 0)),
            )
    assert drawn["a → <b>"][0].endswith("confidence 100 %")
    assert drawn["a → c"][0].endswith("confidence 40 %")
    assert drawn["<b> → c"][0] == "<b> → c"
    assert drawn["a → <b>"][1:] > drawn["a → c"][1:]
    assert drawn["<b> → c"][1] == 1
    numbers = [t.text for t in root.iter(f"{SVG}text") if "%" in str(t.text)]
    assert numbers == ["40 %"], "what is certain needs no number"

"""Structures in DOT: read back by another parser and by the grammar's own rules of quoting."""

from __future__ import annotations

import re
import warnings
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana_core.learn.networks.bif import write_dot
from pramana_core.learn.networks.structure import Structure

ODD = ["hours per week", 'say "x"', "<b>", "back\\slash\\", "a->b;", "node", "é€", "two\nlines"]


@pytest.fixture(scope="module")
def pydot() -> ModuleType:
    """An independent reader of DOT."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import pydot
        import pydot.dot_parser  # it warns of the library below it when it is first used
    return pydot


def quoted_strings(line: str) -> list[str]:
    """The quoted strings of a line: a backslash takes the next character with it."""
    found = re.findall(r'"((?:\\.|[^"\\])*)"', line)
    # What is outside of them is punctuation, keywords and numbers only.
    rest = re.sub(r'"(?:\\.|[^"\\])*"', "", line)
    assert re.fullmatch(r"[\w\s\[\]{}=,;.>-]*", rest), rest
    return found


def meant(quoted: str) -> str:
    """What a label made of a quoted string shows."""
    return re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), quoted)


def links_of(text: str) -> set[tuple[str, ...]]:
    lines = [line for line in text.split("\n") if "->" in re.sub(r'"(?:\\.|[^"\\])*"', "", line)]
    return {tuple(map(meant, quoted_strings(line)[:2])) for line in lines}


def chain(names: list[str]) -> Structure:
    return Structure.of({n: names[max(i - 1, 0) : i] for i, n in enumerate(names)})


def test_odd_names_keep_their_meaning():
    structure = chain(ODD)
    assert links_of(write_dot(structure)) == set(structure.links)


@given(st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=4, unique=True))
def test_any_names_keep_their_meaning(names: list[str]):
    structure = chain(names)
    assert links_of(write_dot(structure)) == set(structure.links)


def test_the_graph_is_what_another_reader_sees(pydot: ModuleType):
    structure = Structure.of({"a": [], 'b "1"': ["a"], "c d": ["a", 'b "1"']})
    confidence = {("a", 'b "1"'): 1.0, ("a", "c d"): 0.25, ('b "1"', "c d"): None}
    (graph,) = pydot.graph_from_dot_data(write_dot(structure, "a study", confidence))
    edges = {
        (meant(e.get_source()[1:-1]), meant(e.get_destination()[1:-1])): e.get_attributes()
        for e in graph.get_edges()
    }
    assert set(edges) == set(structure.links)
    assert edges["a", 'b "1"'] == {"label": '"1.00"', "penwidth": "3.00"}
    assert edges["a", "c d"] == {"label": '"0.25"', "penwidth": "1.20"}
    assert edges['b "1"', "c d"] == {}
    assert graph.get_type() == "digraph"
    named = {meant(n.get_name()[1:-1]) for n in graph.get_nodes()} - {"od"}
    assert named == {"a", 'b "1"', "c d"}


def test_the_checker_sees_what_is_not_quoted():
    """The negative control: a mark that ends its string early leaves words outside."""
    with pytest.raises(AssertionError):
        quoted_strings('  "say "x!"" -> "b";')
    assert links_of('"a" -> "b";') != {("b", "a")}

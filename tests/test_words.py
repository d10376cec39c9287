"""Words that need a second reading grow no more: their number in code and documents is counted.

Whoever rewrites a sentence lowers the number of its package in `MOST`.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from docs.rooms import PLACES
from tests.places import ROOT

WORDS = re.compile(
    r"\b(?:un|fore)?told\b|\b(?:tell|tells|asked|held|said|beside|apart|surest)\b|\bmade of\b"
    r"|\bso many\b|\bso far as\b|\bof which\b|\bas it is\b|\bas they are\b|\bby itself\b"
    r"|\bnone but\b|\bthere (?:is|are) none\b|\bsays? nothing\b|\bowner's word\b",
    re.IGNORECASE,
)
"""Where `told` is the field's own word (columns told beside masked ones) it counts, too."""

NAMES = re.compile(r"(?:^|_)(?:un|fore)?(?:told|tells|asked|held|said|surest)(?:_|$)")

MOST = {
    "pramana_core": (13, 26),
    "owner_agent": (15, 5),
    "miner_service": (0, 0),
    "pramana": (30, 4),
    "benchmarks": (4, 0),
    "pages": (68, 0),
}
"""The number of words in sentences, and in names that are bound."""


def sentences(source: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield docstrings, messages and comments: all texts of more than one word."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def bound(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names of functions, classes, arguments and variables where they are bound."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def counted(source: str) -> tuple[int, int]:
    """Return how often the words stand in a module's sentences, and in its names."""
    nodes = list(ast.walk(ast.parse(source)))
    words = sum(len(WORDS.findall(text)) for text in sentences(source, nodes))
    return words, sum(bool(NAMES.search(name)) for name in bound(nodes))


def of_package(name: str) -> tuple[int, int]:
    """Return the counts of a package, or of the documents."""
    if name == "pages":
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
        return sum(len(WORDS.findall(page.read_text(encoding="utf-8"))) for page in pages), 0
    files: list[Path] = sorted((PLACES[name] / name).rglob("*.py"))
    each = [counted(path.read_text(encoding="utf-8")) for path in files]
    return sum(words for words, _ in each), sum(names for _, names in each)


@pytest.mark.slow
@pytest.mark.parametrize("name", MOST)
def test_words_that_need_a_second_reading_grow_no_more(name: str):
    words, names = of_package(name)
    most = MOST[name]
    assert (words <= most[0], names <= most[1]) == (True, True), (words, names)


def test_words_and_names_are_counted():
    source = """'What is told of it, and said.'\n\ndef told_of(asked: int) -> str:\n"""
    source += """    # so many\n    return "held"\n"""
    assert counted(source) == (3, 2)

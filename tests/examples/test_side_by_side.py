"""docs/side-by-side.md: its blocks run, ours are no longer, and agree where nothing is randomized.

`PRAMANA_WRITE_TUTORIAL=1 pytest tests/examples` writes what they print anew.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examples import blocks
from tests.places import ROOT

PAGE = ROOT / "docs" / "side-by-side.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks.blocks(TEXT)
OURS, ELSEWHERE = "pramana", "diffprivlib"
WRITE = bool(os.environ.get("PRAMANA_WRITE_TUTORIAL"))

PAIRS = {
    other.words.split()[1]: (other, ours)
    for other, ours in zip(
        [b for b in BLOCKS if b.words and not b.words.startswith(OURS)],
        [b for b in BLOCKS if b.words.startswith(OURS)],
        strict=True,
    )
}
RANDOMIZED, OPEN = "p=0.1", "public=domain.names"


@pytest.fixture(scope="module")
def begun() -> dict[str, Any]:
    """What stands above all pairs: the table, its categories and the keys."""
    namespace: dict[str, Any] = {}
    for block in BLOCKS:
        if not block.words:
            blocks.run(block, namespace, PAGE.name)
    return namespace


def after(block: blocks.Block, begun: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Run a block after the beginning; returns what it defines and what it prints."""
    namespace = dict(begun)
    with warnings.catch_warnings():
        if not block.words.startswith(OURS):
            warnings.simplefilter("ignore")  # other libraries tell of their own changes to come
        return namespace, blocks.run(block, namespace, PAGE.name)


def unrandomized(name: str, begun: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run both blocks of a pair, ours with nothing randomized; returns what they define."""
    other, ours = PAIRS[name]
    assert RANDOMIZED in ours.code
    opened = blocks.Block(ours.words, ours.code.replace(RANDOMIZED, OPEN), None, ours.line)
    return after(other, begun)[0], after(opened, begun)[0]


@pytest.mark.slow
def test_the_blocks_print_what_the_page_shows(begun: dict[str, Any]):
    said = [
        (block.printed or "") if block.words.startswith(ELSEWHERE) else after(block, begun)[1]
        for block in BLOCKS
    ]
    if WRITE:
        PAGE.write_text(blocks.with_printed(TEXT, said), encoding="utf-8")
    for block, printed in zip(BLOCKS, said, strict=True):
        assert printed == (block.printed or ""), f"line {block.line}"


def test_classifiers_agree_with_scikit_learn(begun: dict[str, Any]):
    """Of clean records each of the three predicts the same class of every record."""
    theirs, ours = unrandomized("classifiers", begun)
    features = begun["test"].drop(columns="survived")
    for their, our in zip(theirs["models"], ours["models"], strict=True):
        assert our.predict(begun["test"]).tolist() == their.predict(features).tolist()


def test_itemsets_and_rules_agree_with_mlxtend(begun: dict[str, Any]):
    """Unrandomized, the same rules; only the order within a length may differ."""
    theirs, ours = unrandomized("rules", begun)
    measures = ["support", "confidence", "lift", "leverage"]
    rules = [
        frame.set_index(["antecedents", "consequents"])
        for frame in (theirs["rules"], ours["rules"])
    ]
    pd.testing.assert_frame_equal(rules[0][measures], rules[1][measures], check_like=True)


@pytest.mark.slow
def test_networks_agree_with_pgmpy(begun: dict[str, Any]):
    """The same links but for directions that records cannot tell, and the same probabilities."""
    theirs, ours = unrandomized("network", begun)
    links = ours["net"].edges_
    assert {frozenset(link) for link in theirs["links"]} == {frozenset(link) for link in links}
    assert ours["answer"]["survived"].tolist() == theirs["answer"].state_names["survived"]
    np.testing.assert_allclose(ours["answer"]["probability"], theirs["answer"].values, rtol=1e-9)

"""The tree with nothing required and the one that would leave, for the owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.model_sharing.growing import Made
from pramana_core.model_sharing.core.tree import SharedTree
from pramana_core.model_sharing.exchange.drawing import draw_pruning, draw_shared_tree
from pramana_core.model_sharing.exchange.text import write_shared_tree_text


@dataclass(frozen=True)
class Drawing:
    """A picture of one tree or two, and their text."""

    title: str
    svg: str
    text: str


def drawings_of(made: Made) -> tuple[Drawing, ...]:
    """Return pictures of the tree with nothing required, if anything is, and of what would leave.

    Where one was cut back to the other they are one picture, in which what is gone is pale.
    """
    leaving = "The tree that would leave"
    if made.chosen.section.required is None or made.grown is None:
        return (_one(leaving, made.tree),)
    if made.pruned is None:
        return (_one("With nothing required", made.grown), _one(leaving, made.tree))
    title = f"With nothing required, and cut back: {leaving[0].lower()}{leaving[1:]}"
    return (Drawing(title, draw_pruning(made.grown, made.tree), tree_text(made.tree)),)


def tree_text(tree: SharedTree, most: int = 400) -> str:
    """Return a tree as lines, at most so many."""
    return write_shared_tree_text(tree, most_lines=most)


def _one(title: str, tree: SharedTree) -> Drawing:
    return Drawing(title, draw_shared_tree(tree), tree_text(tree))

"""The tree with nothing required and the one that would leave, for her eyes."""

from __future__ import annotations

from dataclasses import dataclass

from owner_agent.model_sharing.growing import Made
from shared.model_sharing.core.tree import SharedTree
from shared.model_sharing.exchange.text import write_shared_tree_text

MOST_LINES = 400


@dataclass(frozen=True)
class Drawing:
    """A tree as a picture or as text."""

    title: str
    svg: str | None = None
    text: str | None = None


def drawings_of(made: Made) -> tuple[Drawing, ...]:
    """Return the tree with nothing required, if anything is, and the one that would leave."""
    found = [Drawing("The tree that would leave", text=tree_text(made.tree, MOST_LINES))]
    if made.chosen.section.required is not None and made.grown is not None:
        found.insert(0, Drawing("With nothing required", text=tree_text(made.grown, MOST_LINES)))
    return tuple(found)


def tree_text(tree: SharedTree, most: int) -> str:
    """Return a tree as lines, at most so many."""
    return write_shared_tree_text(tree, most_lines=most)

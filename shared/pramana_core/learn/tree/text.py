"""Decision trees in words: rules in the form of scikit-learn's ``export_text``, and single nodes.

The text, the picture and the miner's page use the same words.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import numpy as np

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.marginals.counts import Tensor
from pramana_core.ties import descending

_NAMED = 6
"""The most classes named in a line; others are counted."""

_CERTAIN = 1e-9
"""Smaller p-values are all alike."""


def said_of_model(tree: DecisionTree) -> str:
    """Say what a tree's counts come from; "" where the reports tell them."""
    if tree.through is None:
        return ""
    return (
        f"Through a model: no reports tell the attributes of a path together, so the counts are"
        f" those that {NAMES[tree.through]} expects, learned from the tables of few variables"
        " that are reported. Intervals are the model's: they suppose that it holds. Questions are"
        " not tested: one stays where it and those below it let more records be told right, as the"
        " model expects."
    )


def shown_children(tree: DecisionTree, node: Node) -> list[tuple[tuple[str, ...], Node]]:
    """Return what follows a node's answers: of a pruned tree leaves of one class are put together.

    Each with its categories, in the order of the first of them.
    """
    if node.split is None:
        return []
    labels = tree.inputs[node.split.attribute].categories
    groups: dict[tuple[int, int], list[tuple[str, Node]]] = {}
    for code, (label, child) in enumerate(zip(labels, node.children, strict=True)):
        alone = child.split is not None or not tree.options.prune
        alike = (code, 0) if alone else (-1, child.classes.decision)
        groups.setdefault(alike, []).append((label, child))
    return [
        (tuple(label for label, _ in some), some[0][1] if len(some) == 1 else _together(some))
        for some in groups.values()
    ]


class BoundedClasses(NodeClasses):
    """The classes of merged leaves: their errors are bounds."""


def _together(some: Sequence[tuple[str, Node]]) -> Node:
    """Return leaves of one class as one."""
    parts = [leaf.classes for _, leaf in some]
    sizes = np.array([max(part.total, 0.0) for part in parts])
    weights = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(parts), 1 / len(parts))

    def by_class(name: str) -> Tensor:
        found: Tensor = np.array([getattr(part, name) for part in parts])
        return found

    shares = weights @ by_class("probabilities")
    return Node(
        BoundedClasses(
            counts=tuple(by_class("counts").sum(axis=0).tolist()),
            se_records=tuple(by_class("se_records").sum(axis=0).tolist()),
            se_population=tuple(by_class("se_population").sum(axis=0).tolist()),
            low=tuple(by_class("low").min(axis=0).tolist()),
            high=tuple(by_class("high").max(axis=0).tolist()),
            effective=float(by_class("effective").sum()),
            leaned=float(weights @ by_class("leaned")),
            probabilities=tuple((shares / shares.sum()).tolist()),
        )
    )


def percent(share: float, decimals: int = 0) -> str:
    """Return a share in percent, without its sign."""
    return f"{100 * share:.{decimals}f}"


def by_share(classes: NodeClasses) -> list[int]:
    """Return the codes of the classes, the most probable first, equals in their order."""
    found: list[int] = descending(classes.probabilities).tolist()
    return found


def said_of_parent(classes: NodeClasses) -> str:
    """Say how much a node's probabilities lean on its parent's; "" of the root."""
    if not classes.effective and classes.leaned:
        return "as its parent: it has no records of its own"
    if classes.leaned >= 0.995:
        return "leans wholly on its parent"
    if classes.leaned < 0.005:
        return ""
    return f"leans {percent(classes.leaned)} % on its parent"


def decided(target: Variable, classes: NodeClasses, decimals: int = 0) -> str:
    """Return the probabilities that decide, the largest first."""
    said = (
        f"{target.categories[c]} {percent(classes.probabilities[c], decimals)} %"
        for c in by_share(classes)
    )
    return first_few(said, _NAMED)


def own_records(target: Variable, classes: NodeClasses, decimals: int = 0) -> str:
    """Return what a node's own records say: how many they are, and its classes' intervals."""
    own = classes.proportions
    if own is None:
        return "no records of its own"
    said = (
        f"{target.categories[c]} {percent(own[c], decimals)} %"
        f" ({percent(classes.low[c], decimals)} to {percent(classes.high[c], decimals)})"
        for c in by_share(classes)
    )
    return f"its own {records(classes)}: {first_few(said, _NAMED)}"


def records(classes: NodeClasses) -> str:
    """Return how many records a node has, and how many that are not randomized tell as much."""
    return f"{classes.total:,.0f} records (worth {classes.effective:,.0f})"


def told(split: Split, tree: DecisionTree) -> str:
    """Return a question's information with its interval; through a model, the expected one."""
    if tree.through is not None:
        return f"{split.gain:.3f} bits expected"
    return f"{split.excess:.3f} bits ({split.low:.3f} to {split.high:.3f})"


def tested(split: Split, tree: DecisionTree) -> str:
    """Return the test that a question passed; "" through a model, where there is none."""
    if tree.through is not None:
        return ""
    significance = tree.options.limit
    found = f"likelihood ratio {_size(split.statistic)}"
    if split.limit is not None and significance is not None:
        found += f", by chance above {_size(split.limit)} in {100 * significance:g} %"
        found += f" (best of {split.tried})" if split.tried > 1 else ""
    return f"{found}; {p_value(split)}"


def _size(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def p_value(split: Split) -> str:
    """Return how often chance alone would show as much."""
    return "p < 1e-9" if split.p_value < _CERTAIN else f"p = {split.p_value:.2g}"


_INDENT = "|   "

_WIDTH, _NARROW = 98, 40
"""Columns of a line, and the fewest left to the words of a deep node."""


def write_tree_text(
    tree: DecisionTree,
    *,
    max_depth: int | None = None,
    show_weights: bool = False,
    decimals: int = 0,
) -> str:
    """Return the rules of a tree, a line for each category and each leaf.

        |--- tear-production-rate = normal
        |   |--- class: soft

    Of a pruned tree answers that lead to leaves of one class stand in one line. With weights each
    has its own; a line before each question says what its attribute tells of the class, with the
    95 % interval and the test that it passed; and a leaf has two lines more: the probabilities that
    decided its class and how far they lean on its parent's, and what its own records say, with
    95 % intervals against the population. A tree through a model begins by saying so.

    Args:
        tree: the tree.
        max_depth: leave out the questions below so many others, saying how deep the branch is;
            None writes all.
        show_weights: write what decided each question and each class.
        decimals: of the percentages.

    Raises OptionError.
    """
    if decimals < 0 or (max_depth is not None and max_depth < 0):
        raise OptionError("A depth and a number of decimals must be 0 or more.", where="max_depth")
    weights = decimals if show_weights else None
    lines = list(_text_lines(tree, tree.root, 0, max_depth, weights))
    if show_weights and tree.through is not None:
        lines = [*textwrap.wrap(said_of_model(tree), _WIDTH), "", *lines]
    return "\n".join(lines) + "\n"


def _text_lines(
    tree: DecisionTree, node: Node, depth: int, most: int | None, decimals: int | None
) -> Iterator[str]:
    lead = _INDENT * depth + "|--- "
    if node.split is None:
        yield f"{lead}class: {tree.target.categories[node.classes.decision]}"
        if decimals is not None:
            yield from _weights(tree, node, _INDENT * depth + "|      ", decimals)
        return
    if most is not None and depth > most:
        # As there, the depth of a branch counts its nodes and not its questions.
        yield f"{lead}truncated branch of depth {node.depth + 1}"
        return
    attribute = tree.inputs[node.split.attribute]
    if decimals is not None:
        said = "; ".join(filter(None, (told(node.split, tree), tested(node.split, tree))))
        yield from _wrapped(f"{_INDENT * depth}|  ", f"{attribute.name} tells {said}")
        each = zip(attribute.categories, node.children, strict=True)
        answers: list[tuple[tuple[str, ...], Node]] = [((label,), child) for label, child in each]
    else:
        answers = shown_children(tree, node)
    for categories, child in answers:
        bars = _INDENT * depth + "|   "
        said = f"{attribute.name} = {', '.join(categories)}"
        first, *more = _cut(said, max(_WIDTH - len(lead), _NARROW))
        yield f"{lead}{first}"
        yield from (f"{bars}  {part}" for part in more)
        yield from _text_lines(tree, child, depth + 1, most, decimals)


def _cut(said: str, width: int) -> list[str]:
    """Return words in lines of a width, with names whole."""
    if len(said) <= width:
        return [said]
    return textwrap.wrap(said, width, break_long_words=False, break_on_hyphens=False)


def _weights(tree: DecisionTree, leaf: Node, lead: str, decimals: int) -> Iterator[str]:
    leaned = said_of_parent(leaf.classes)
    because = decided(tree.target, leaf.classes, decimals)
    yield from _wrapped(lead, f"decided by {because}{leaned and f'; {leaned}'}")
    yield from _wrapped(lead, own_records(tree.target, leaf.classes, decimals))


def _wrapped(lead: str, said: str) -> Iterator[str]:
    """Yield words in lines of about `_WIDTH` columns, those after the first indented."""
    lines = textwrap.wrap(said, max(_WIDTH - len(lead), _NARROW), break_long_words=False)
    for number, part in enumerate(lines):
        yield f"{lead}{'  ' if number else ''}{part}"

"""Pictures of decision trees, drawn from left to right.

A question is a box with what it tells and its p-value; each category leads along a line, the wider
the more records, to a child. A leaf has a bar of the probabilities that decided its class; under it
what its own records say of that class, a mark within its 95 % interval; and how many records that
are not randomized would tell as much, and how far it leans on its parent.

Also here:

* Decision trees as rules in plain text, in the form of scikit-learn's ``export_text``.
* What is said of a node in words: what decided its class, and what its question was found to
  tell.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pramana_core.alike import first_few
from pramana_core.domain import Variable
from pramana_core.errors import OptionError
from pramana_core.learn.bayes_classifier.exchange import NAMES
from pramana_core.learn.tree.model import DecisionTree
from pramana_core.learn.tree.node import Node, NodeClasses, Split
from pramana_core.marginals.counts import Tensor
from pramana_core.pictures.svg import (
    GAP,
    MIDDLE,
    Box,
    Group,
    Layout,
    Place,
    Shape,
    Text,
    bar,
    breadth,
    colour,
    columns,
    key,
    laid_out,
    line,
    short,
)
from pramana_core.ties import descending

# Decision trees as rules in plain text, in the form of scikit-learn's ``export_text``.


# What is said of a node in words: what decided its class, and what its question was found to tell.
#
# The text, the picture and the miner's page say it alike.

_NAMED = 6
"""So many classes are named in a line; the others are counted."""

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
    """What is known of leaves that are put together: their errors are bounds, no errors."""


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
    """Return what a question tells, with its interval; through a model, what that expects."""
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
    """Return the rules of a tree, a line for each category asked and each leaf.

        |--- tear-production-rate = normal
        |   |--- class: soft

    Of a pruned tree answers that lead to leaves of one class stand in one line. With weights each
    has its own; a line before each question says what its attribute tells of the class, with the
    95 % interval and the test that it passed; and a leaf has two lines more: the probabilities that
    decided its class and how far they lean on its parent's, and what its own records say, with
    95 % intervals against the population. See `words`. A tree through a model begins by saying so.

    Args:
        tree: the tree.
        max_depth: leave out the questions below so many others, saying how deep the branch is;
            None writes all.
        show_weights: write what decided each question and each class.
        decimals: of the percentages.

    Raises:
        OptionError: a negative depth or number of decimals.
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
    """Return what is said in lines of a width, names whole; as it is where it fits into one."""
    if len(said) <= width:
        return [said]
    return textwrap.wrap(said, width, break_long_words=False, break_on_hyphens=False)


def _weights(tree: DecisionTree, leaf: Node, lead: str, decimals: int) -> Iterator[str]:
    leaned = said_of_parent(leaf.classes)
    because = decided(tree.target, leaf.classes, decimals)
    yield from _wrapped(lead, f"decided by {because}{leaned and f'; {leaned}'}")
    yield from _wrapped(lead, own_records(tree.target, leaf.classes, decimals))


def _wrapped(lead: str, said: str) -> Iterator[str]:
    """Yield what is said in lines of about `_WIDTH` columns, those after the first set in."""
    lines = textwrap.wrap(said, max(_WIDTH - len(lead), _NARROW), break_long_words=False)
    for number, part in enumerate(lines):
        yield f"{lead}{'  ' if number else ''}{part}"


# Pictures of decision trees, drawn from left to right.


_ROW, _BOX, _MARGIN, _BAR = 62.0, 54.0, 18.0, 110.0
_LONGEST, _NAME, _NOTE = 26, 14, 11
ROWS = 40
"""Rows of a picture of the top of a tree."""

_QUESTION = "#3d4a57"
_Place = Place[Node]
_LONGEST_NOTE = "worth 000,000 records; leans 00 % on its parent"


def draw_tree(tree: DecisionTree, *, max_depth: int | None = None) -> Layout:
    """Return a picture of a tree.

    Of a pruned tree answers that lead to leaves of one class are drawn together. Hovering over a
    node shows its class counts with their standard errors.

    Args:
        tree: the tree.
        max_depth: draw the questions below so many others as leaves that say what they leave out;
            None draws the top: as many levels as have at most `ROWS` rows, and one in any case.

    Raises:
        OptionError: a negative depth.
    """
    if max_depth is not None and max_depth < 0:
        raise OptionError(f"max_depth must be 0 or more, not {max_depth}.", where="max_depth")
    root = laid_out(tree.root, partial(_children, tree), _ROW, 0)
    for most in range(1, tree.root.depth) if max_depth is None else (max_depth,):
        deeper = laid_out(tree.root, partial(_children, tree), _ROW, most)
        if max_depth is None and sum(1 for place in deeper if not place.children) > ROWS:
            break
        root = deeper
    starts = _columns(tree, root)
    legend, end = _legend(tree.target, _left_out(tree, root))
    top = 2 * _MARGIN + 26
    width = max(max(starts) + _MARGIN + _leaf_width(tree.target), end + _MARGIN)
    height = top + max(place.y for place in root) + _ROW / 2 + _MARGIN
    drawn = [shape for place in root for shape in _lines(tree, place, starts)]
    drawn += [_node(tree, place, starts) for place in root]
    parts = [legend, Group(drawn, place=(_MARGIN, top), apart=True)]
    return Layout(width, height, f"Decision tree for {tree.target.name}", parts)


def _left_out(tree: DecisionTree, root: _Place) -> str:
    """Say how much lies below what is drawn; "" if nothing does."""
    below = sum(_leaves(place.node) for place in root if place.cut)
    if not below:
        return ""
    drawn = max(place.level for place in root if place.children) + 1
    return (
        f"The top {drawn} of {tree.root.depth} levels of questions:"
        f" {below:,} of {len(tree.leaves):,} leaves lie below"
    )


def _leaves(node: Node) -> int:
    return sum(1 for below in node if below.split is None)


def _columns(tree: DecisionTree, root: _Place) -> list[float]:
    return columns(root, partial(_box_width, tree), lambda category: breadth(_short(category), 12))


def _children(tree: DecisionTree, node: Node) -> list[tuple[str, Node]]:
    return [(", ".join(labels), child) for labels, child in shown_children(tree, node)]


def _lines(tree: DecisionTree, place: _Place, starts: list[float]) -> Iterator[Group]:
    """Yield a node's lines to its children, with their categories."""
    whole = tree.root.classes.total
    x0 = starts[place.level] + (_box_width(tree, place.node) if place.children else 0.0)
    for category, child in place.children:
        share = min(max(child.node.classes.total / whole, 0.0), 1.0)
        path = line((x0, place.y), (starts[child.level] - 6, child.y), share)
        shown = _short(category)
        # White also between the words, and a little before and behind, so that no line touches.
        ground = Box(x0 + GAP, child.y - 8, 0.9 * breadth(shown, 12) + 12, 16, "#fff")
        label = Text(x0 + GAP + 6, child.y + 4, shown, 12, "#222")
        yield Group([path, ground, label], f"{category}: {100 * share:.1f} % of the records")


def _node(tree: DecisionTree, place: _Place, starts: list[float]) -> Group:
    x, node = starts[place.level], place.node
    drawn = _question(tree, node, x, place.y) if place.children else _leaf(tree, place, x)
    return Group([drawn], _details(tree, node))


def _question(tree: DecisionTree, node: Node, x: float, y: float) -> Shape:
    if node.split is None:
        return ()
    width = _box_width(tree, node)
    middle = x + width / 2
    test = p_value(node.split) if tree.through is None else "by the model"
    return (
        Box(x, y - _BOX / 2, width, _BOX, _QUESTION, rounding=9),
        Text(middle, y - 9, _short(node.split.attribute), _NAME, "#fff", MIDDLE),
        Text(middle, y + 7, told(node.split, tree), _NOTE, "#dde3e8", MIDDLE),
        Text(middle, y + 20, test, _NOTE, "#dde3e8", MIDDLE),
    )


def _leaf(tree: DecisionTree, place: _Place, x: float) -> Shape:
    classes, y = place.node.classes, place.y
    code = classes.decision
    share = f"{percent(classes.probabilities[code])} %"
    decided = f"{_short(tree.target.categories[code])} {share}"
    below = _leaves(place.node)
    worth = f"worth {_count(classes.effective)} records"
    leaned = said_of_parent(classes)
    note = f"{below} leaves left out" if place.cut else worth + (leaned and f"; {leaned}")
    beside = x + _BAR + 8
    shares = ((share * _BAR, colour(at)) for at, share in enumerate(classes.probabilities))
    return (
        bar(shares, x, y - 20, _BAR),
        _whisker(classes, x, y + 5),
        Text(beside, y - 8, decided, 13, colour(code), bold=True),
        Text(beside, y + 8, _itself(classes), _NOTE, "#555"),
        Text(beside, y + 22, note, _NOTE, "#555"),
    )


def _itself(classes: NodeClasses) -> str:
    """Say what a leaf's own records tell of the class decided for."""
    own, code = classes.proportions, classes.decision
    if own is None:
        return "no records of its own"
    ends = f"{percent(classes.low[code])} to {percent(classes.high[code])}"
    return f"by itself {percent(own[code])} % ({ends})"


def _whisker(classes: NodeClasses, x: float, y: float) -> Shape:
    """Draw the interval of the share of the class decided for, on the scale of the bar."""
    own, code = classes.proportions, classes.decision
    if own is None:
        return ()
    low, high = classes.low[code] * _BAR, classes.high[code] * _BAR
    return (
        Box(x, y - 0.5, _BAR, 1, "#ddd"),
        Box(x + low, y - 1.5, max(high - low, 1.0), 3, colour(code)),
        Box(x + own[code] * _BAR - 1.5, y - 5, 3, 10, colour(code)),
    )


def _details(tree: DecisionTree, node: Node) -> str:
    """Return what hovering shows: counts with errors, intervals, and of a question its test."""
    known = node.classes
    most = "at most " if isinstance(known, BoundedClasses) else ""
    lines = [
        f"{category}: {count:,.0f} ± {most}{given:,.0f} (population ± {most}{drawn:,.0f});"
        f" decided by {percent(share, 1)} %"
        for category, count, given, drawn, share in zip(
            tree.target.categories,
            known.counts,
            known.se_records,
            known.se_population,
            known.probabilities,
            strict=True,
        )
    ]
    lines += [own_records(tree.target, known), said_of_parent(known)]
    if node.split is not None:
        lines += [f"tells {told(node.split, tree)}", tested(node.split, tree)]
    return "\n".join(filter(None, lines))


def _legend(target: Variable, left_out: str) -> tuple[Shape, float]:
    """Return the target's name, its categories' colours and what is left out, and where it ends."""
    y = _MARGIN + 13
    heading = Text(_MARGIN, y, target.name, _NAME, "#222", bold=True)
    groups = ((_short(name), colour(code)) for code, name in enumerate(target.categories))
    keys, end = key(_MARGIN + breadth(target.name) + 14, y - 11, groups)
    if not left_out:
        return (heading, keys), end
    said = Text(_MARGIN, y + 20, left_out, _NOTE, "#555")
    return (heading, keys, said), max(end, _MARGIN + breadth(left_out, _NOTE))


def _leaf_width(target: Variable) -> float:
    named = max(breadth(f"{_short(category)} 100 %", 13) for category in target.categories)
    return _BAR + 8 + max(named, breadth(_LONGEST_NOTE, _NOTE)) + _MARGIN


def _box_width(tree: DecisionTree, node: Node) -> float:
    if node.split is None:
        return 24
    name = breadth(_short(node.split.attribute), _NAME)
    return 24 + max(name, breadth(told(node.split, tree), _NOTE))


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _short(words: str) -> str:
    return short(words, _LONGEST)

"""Bayesian networks in the Bayesian Interchange Format (BIF 0.15), written and read.

BIF knows only words. In other labels each offending character is written as `_xHEX_` (its Unicode
code point), which reading turns back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, InputError
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Tensor

_PRINTED_ROUNDING = 0.01 + 1e-9
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]|_(?=x)")
_ESCAPED = re.compile(r"_x([0-9A-F]+)_")
_TOKEN = re.compile(
    r'"[^"]*"|(?P<open>")'
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|[{}()\[\];,|]"
    # An address may stand in a word without quotes: `://` begins no comment.
    r'|(?:(?!(?<!:)//|/\*)[^\s{}()\[\];,|"])+',
    re.DOTALL,
)

_Row = tuple[int, list[float]]
"""The line of a row, and its numbers."""


def write_bif(network: BayesNet, name: str) -> str:
    """Return a network as BIF text, probabilities to 17 significant digits (none is lost)."""
    lines = [f"network {_word(name)} {{", "}"]
    for node in network.structure.nodes:
        variable = network.domain[node]
        values = ", ".join(_word(c) for c in variable.categories)
        lines += [
            f"variable {_word(node)} {{",
            f"  type discrete [ {variable.size} ] {{ {values} }};",
            "}",
        ]
    for node, parents in network.structure.families:
        given = f" | {', '.join(map(_word, parents))}" if parents else ""
        lines.append(f"probability ( {_word(node)}{given} ) {{")
        domain, table = network.domain.project(parents), network.tables[node]
        for index in np.ndindex(*domain.shape):
            labels = (_word(v.categories[i]) for v, i in zip(domain, index, strict=True))
            key = f"({', '.join(labels)})" if parents else "table"
            lines.append(f"  {key} {', '.join(f'{p:.17g}' for p in table[index])};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _word(label: str) -> str:
    word = _UNSAFE.sub(lambda match: f"_x{ord(match.group()):X}_", label)
    # A word may be a whole number, but must not merely begin like one.
    if word[0].isdigit() and not word.isdigit():
        word = f"_x{ord(word[0]):X}_{word[1:]}"
    return word


def _label(word: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), word.strip('"'))


def read_bif(text: str) -> BayesNet:
    """Read a network from BIF text, also in the dialect of JavaBayes.

    Names may be quoted, commas and `|` omitted, and rows given in any order. A row whose numbers
    sum to 1 within 0.01 is scaled to 1, for printed probabilities are rounded.

    Raises:
        InputError: the text is not BIF, names something twice, or a table lacks a row or has one
            too many. The message names the line.
        ChannelError: a row is not a distribution.
        StructureError, DomainError: the text describes no network.
    """
    reader = _Reader(text)
    try:
        return reader.network()
    except (StopIteration, ValueError, KeyError, IndexError, OverflowError) as error:
        raise _malformed(
            f"The text is not a Bayesian network in BIF: line {reader.line} cannot be read"
            f" ({type(error).__name__})."
        ) from None


def _malformed(message: str, node: str | None = None) -> InputError:
    return InputError(
        message,
        where=node,
        remedy="Give a `variable` and a `probability` block for each node as bnlearn writes them,"
        " with one row for each combination of the parents' categories, or a `default`.",
    )


class _Reader:
    """A reader of one BIF text, token by token; `line` is that of the last token."""

    def __init__(self, text: str) -> None:
        self.line = 1
        self._tokens = self._tokenize(text)
        self._variables: dict[str, Variable] = {}
        self._parents: dict[str, list[str]] = {}
        self._rows: dict[str, dict[str | tuple[str, ...], _Row]] = {}

    def network(self) -> BayesNet:
        for word in self._tokens:
            if word == "network":
                list(self._block())
            elif word == "variable":
                self._variable()
            elif word == "probability":
                self._probability()
            else:
                raise ValueError(word)
        for name in self._variables.keys() ^ self._parents.keys():
            raise _malformed(f"{name!r} has only one of the two blocks it needs.", name)
        domain = Domain(tuple(self._variables.values()))
        structure = Structure.of({name: self._parents[name] for name in domain.names})
        tables = {
            name: _table(domain, name, parents, self._rows[name])
            for name, parents in self._parents.items()
        }
        return BayesNet(domain, structure, tables)

    def _tokenize(self, text: str) -> Iterator[str]:
        end = 0
        for match in _TOKEN.finditer(text):
            self.line += text.count("\n", end, match.start())
            end = match.start()
            if match["open"]:
                raise _malformed(f"The quotation mark in line {self.line} is not closed.")
            if not match["comment"]:
                yield match.group()

    def _until(self, end: str) -> Iterator[str]:
        for word in self._tokens:
            if word == end:
                return
            if word != ",":
                yield word
        raise ValueError(f"no {end}")

    def _block(self) -> Iterator[str]:
        list(self._until("{"))
        for word in self._until("}"):
            if word == "property":
                list(self._until(";"))
            else:
                yield word

    def _variable(self) -> None:
        name = _label(next(self._tokens))
        categories: tuple[str, ...] = ()
        for word in self._block():
            if word == "type":
                declared = [t for t in self._until("{") if t.isdigit()]
                categories = tuple(_label(t) for t in self._until("}"))
                if declared and int(declared[0]) != len(categories):
                    raise _malformed(
                        f"Line {self.line}: node {name!r} is declared with {declared[0]} categories"
                        f" and lists {len(categories)}.",
                        name,
                    )
        if name in self._variables:
            raise _malformed(f"Line {self.line}: node {name!r} is declared twice.", name)
        self._variables[name] = Variable(name, categories)

    def _probability(self) -> None:
        if next(self._tokens) != "(":
            raise ValueError("(")
        node, *parents = (_label(t) for t in self._until(")") if t != "|")
        if node in self._parents:
            raise _malformed(f"Line {self.line}: node {node!r} has two `probability` blocks.", node)
        self._parents[node] = parents
        rows = self._rows[node] = {}
        for word in self._block():
            key = tuple(_label(t) for t in self._until(")")) if word == "(" else word
            if key in rows or (not isinstance(key, tuple) and key not in ("table", "default")):
                raise _malformed(f"Line {self.line}: {key} of node {node!r} is not expected.", node)
            line, words = self.line, list(self._until(";"))
            try:
                rows[key] = line, [float(number) for number in words]
            except ValueError:
                raise _malformed(
                    f"Line {line}: a row of node {node!r} holds what is no number.", node
                ) from None


def _table(
    domain: Domain, node: str, names: list[str], rows: dict[str | tuple[str, ...], _Row]
) -> Tensor:
    """Return a node's table of its listed rows; the default row replaces missing ones."""
    parents, size = domain.project(names), domain[node].size
    if "table" in rows:
        # `table` lists the node's value slowest, then the parents in order.
        line, numbers = rows["table"]
        if len(rows) > 1 or len(numbers) != size * parents.size:
            raise _malformed(f"Line {line}: the table of node {node!r} has another size.", node)
        table = np.moveaxis(np.array(numbers).reshape(size, *parents.shape), 0, -1)
        return _scaled(table, node, dict.fromkeys(np.ndindex(*parents.shape), line))
    table = np.empty((*parents.shape, size))
    lines: dict[tuple[int, ...], int] = {}
    used: set[str | tuple[str, ...]] = {"default"}
    for index in np.ndindex(*parents.shape):
        key = tuple(v.categories[i] for v, i in zip(parents, index, strict=True))
        if key not in rows and "default" not in rows:
            raise _malformed(f"Node {node!r} has no row ({', '.join(key)}).", node)
        lines[index], numbers = rows.get(key) or rows["default"]
        if len(numbers) != size:
            raise _malformed(
                f"Line {lines[index]}: a row of node {node!r} has {len(numbers)} numbers for"
                f" {size}.",
                node,
            )
        table[index] = numbers
        used.add(key)
    for other in rows.keys() - used:
        raise _malformed(
            f"Line {rows[other][0]}: row {other} of node {node!r} does not name categories of"
            f" {names}.",
            node,
        )
    return _scaled(table, node, lines)


def _scaled(table: Tensor, node: str, lines: dict[tuple[int, ...], int]) -> Tensor:
    """Return a table with rows of sum 1. Raises ChannelError."""
    total = table.sum(axis=-1, keepdims=True)
    for index, line in lines.items():
        if table[index].min() < 0 or not abs(total[index][0] - 1) <= _PRINTED_ROUNDING:
            raise ChannelError(
                f"Line {line}: a row of node {node!r} is not a distribution; it sums to"
                f" {total[index][0]:.6g}, its smallest number is {table[index].min():.6g}.",
                where=node,
                remedy="Probabilities are at least 0 and sum to 1 but for rounding.",
            )
    found: Tensor = np.where(np.abs(total - 1) > 1e-12, table / total, table)
    return found

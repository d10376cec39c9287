"""Bayesian networks in the Bayesian Interchange Format (BIF 0.15), written and read.

BIF knows only words. In other labels each offending character is written as `_xHEX_` (its
Unicode code point), which reading turns back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
        lines += _table_lines(network, node, parents)
    return "\n".join(lines) + "\n"


def _table_lines(network: BayesNet, node: str, parents: tuple[str, ...]) -> list[str]:
    table = network.tables[node]
    given = f" | {', '.join(_word(p) for p in parents)}" if parents else ""
    lines = [f"probability ( {_word(node)}{given} ) {{"]
    if not parents:
        lines.append(f"  table {_numbers(table)};")
    domain = network.domain.project(parents)
    for index in np.ndindex(*domain.shape) if parents else ():
        labels = ", ".join(_word(v.categories[i]) for v, i in zip(domain, index, strict=True))
        lines.append(f"  ({labels}) {_numbers(table[index])};")
    return [*lines, "}"]


def _numbers(row: Tensor) -> str:
    return ", ".join(f"{p:.17g}" for p in row)


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

    Names may be quoted, commas and `|` left out, and rows given in any order. A row whose numbers
    sum to 1 within 0.01 is scaled to 1, for printed probabilities are rounded.

    Raises:
        InputError: the text is not BIF; a node is declared twice, with another number of categories
            than it lists, or has no or two `probability` blocks; a table lacks a row, or has one
            too many. The message names the line.
        ChannelError: a row is not a distribution.
        StructureError, DomainError: the text describes no network.
    """
    reader = _Reader(text)
    try:
        return reader.network()
    except (StopIteration, ValueError, KeyError, IndexError, OverflowError) as error:
        raise InputError(
            f"The text is not a Bayesian network in BIF: line {reader.line} cannot be read"
            f" ({type(error).__name__}).",
            remedy=_REMEDY,
        ) from None


_REMEDY = "Give a file with `variable` and `probability` blocks as bnlearn writes them."


@dataclass(frozen=True)
class _Row:
    """Numbers of a node's table: `key` is the parents' categories, or `table` or `default`."""

    node: str
    key: str | tuple[str, ...]
    line: int
    values: list[float]

    def __str__(self) -> str:
        key = self.key if isinstance(self.key, str) else f"({', '.join(self.key)})"
        return f"The row {key} of node {self.node!r} in line {self.line}"

    def sized(self, size: int) -> list[float]:
        """Return the numbers. Raises InputError for another number of them."""
        if len(self.values) != size:
            raise _malformed(self.node, f"{self} has {len(self.values)} numbers for {size}.")
        return self.values


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
                self._skip_block()
            elif word == "variable":
                self._variable()
            elif word == "probability":
                self._probability()
            else:
                raise ValueError(word)
        self._require_blocks()
        domain = Domain(tuple(self._variables.values()))
        structure = Structure.of({name: self._parents[name] for name in domain.names})
        tables = {
            name: _table(domain, name, self._parents[name], self._rows[name])
            for name in domain.names
        }
        return BayesNet(domain, structure, tables)

    def _tokenize(self, text: str) -> Iterator[str]:
        end = 0
        for match in _TOKEN.finditer(text):
            self.line += text.count("\n", end, match.start())
            end = match.start()
            if match["open"]:
                raise InputError(
                    f"The text is not a Bayesian network in BIF: the quotation mark in line"
                    f" {self.line} is not closed.",
                    remedy=_REMEDY,
                )
            if not match["comment"]:
                yield match.group()

    def _require_blocks(self) -> None:
        if not self._variables:
            raise InputError("The text declares no variable.", remedy=_REMEDY)
        for name in self._variables:
            if name not in self._parents:
                raise InputError(
                    f"Node {name!r} has no `probability` block.",
                    where=name,
                    remedy=f"Add `probability ( {_word(name)} ) {{ table ...; }}`.",
                )
        for name in self._parents:
            if name not in self._variables:
                raise InputError(
                    f"There is a `probability` block of {name!r}, which is not a variable.",
                    where=name,
                    remedy="Declare it in a `variable` block, or take the block out.",
                )

    def _until(self, end: str) -> Iterator[str]:
        for word in self._tokens:
            if word == end:
                return
            if word != ",":
                yield word
        raise ValueError(f"no {end}")

    def _skip_block(self) -> None:
        for word in self._tokens:
            if word == "{":
                list(self._until("}"))
                return

    def _variable(self) -> None:
        name = _label(next(self._tokens))
        categories: tuple[str, ...] = ()
        for word in self._until_opened():
            if word == "type":
                declared = [t for t in self._until("{") if t.isdigit()]
                categories = tuple(_label(t) for t in self._until("}"))
                if declared and int(declared[0]) != len(categories):
                    raise InputError(
                        f"Line {self.line}: node {name!r} is declared with {declared[0]} categories"
                        f" and lists {len(categories)}.",
                        where=name,
                        remedy="Correct the number, or list the categories that are missing.",
                    )
            elif word == "property":
                list(self._until(";"))
        if name in self._variables:
            raise self._twice(f"Node {name!r} is declared", name)
        self._variables[name] = Variable(name, categories)

    def _until_opened(self) -> Iterator[str]:
        list(self._until("{"))
        return self._until("}")

    def _probability(self) -> None:
        if next(self._tokens) != "(":
            raise ValueError("(")
        node, *parents = (_label(t) for t in self._until(")") if t != "|")
        if node in self._parents:
            raise self._twice(f"Node {node!r} has a `probability` block", node)
        self._parents[node] = parents
        self._rows[node] = {}
        for word in self._until_opened():
            if word in ("table", "default"):
                self._row(node, word)
            elif word == "(":
                self._row(node, tuple(_label(t) for t in self._until(")")))
            elif word == "property":
                list(self._until(";"))

    def _row(self, node: str, key: str | tuple[str, ...]) -> None:
        line, rows = self.line, self._rows[node]
        row = _Row(node, key, line, [self._number(node, word) for word in self._until(";")])
        if key in rows:
            raise self._twice(f"{row} is there", node)
        rows[key] = row

    def _number(self, node: str, word: str) -> float:
        try:
            return float(word)
        except ValueError:
            raise _malformed(
                node,
                f"Line {self.line}: {word!r} stands where a number of node {node!r} is expected.",
            ) from None

    def _twice(self, what: str, node: str) -> InputError:
        return InputError(
            f"{what} twice, again in line {self.line}.", where=node, remedy="Keep one of them."
        )


def _table(
    domain: Domain, node: str, names: list[str], rows: dict[str | tuple[str, ...], _Row]
) -> Tensor:
    """Return a node's table of its listed rows, the default row standing for the others."""
    parents = domain.project(names)
    size = domain[node].size
    whole = rows.get("table")
    if whole and len(rows) > 1:
        raise _malformed(node, f"{whole} stands beside other rows.")
    table = np.empty((*parents.shape, size))
    if whole:
        # `table` lists the node's value slowest, then the parents in order.
        flat = np.array(whole.sized(size * parents.size))
        table = np.moveaxis(flat.reshape(size, *parents.shape), 0, -1)
    used: set[str | tuple[str, ...]] = {"table", "default"}
    for index in np.ndindex(*parents.shape):
        key = tuple(v.categories[i] for v, i in zip(parents, index, strict=True))
        used.add(key)
        row = whole or rows.get(key) or rows.get("default")
        if row is None:
            raise _malformed(node, f"Node {node!r} has no row ({', '.join(key)}).")
        if row is not whole:
            table[index] = row.sized(size)
        _require_distribution(row, table[index])
    for row in rows.values():
        if row.key not in used:
            raise _malformed(node, f"{row} does not name categories of its parents {names}.")
    total = table.sum(axis=-1, keepdims=True)
    scaled: Tensor = np.where(np.abs(total - 1) > 1e-12, table / total, table)
    return scaled


def _require_distribution(row: _Row, values: Tensor) -> None:
    total = float(values.sum())
    if values.min() < 0 or not abs(total - 1) <= _PRINTED_ROUNDING:
        raise ChannelError(
            f"{row} is not a distribution: its numbers sum to {total:.6g}, the smallest is"
            f" {values.min():.6g}.",
            where=row.node,
            remedy="Probabilities are at least 0 and sum to 1, rounding aside.",
        )


def _malformed(node: str, message: str) -> InputError:
    return InputError(
        message,
        where=node,
        remedy="Give one row for each combination of the parents' categories, or a `default`, with"
        " a number for each category of the node.",
    )

"""Bayesian networks in the Bayesian Interchange Format (BIF 0.15), written and read.

BIF knows only words. A label that is none is written with each offending character as `_xHEX_`
(its Unicode code point), which reading turns back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from shared.counts import Tensor
from shared.domain import Domain, Variable
from shared.errors import InputError
from shared.learn.network import BayesNet
from shared.learn.structure import Structure

_PRINTED_ROUNDING = 1e-5
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]|_(?=x)")
_ESCAPED = re.compile(r"_x([0-9A-F]+)_")
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


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
    """Read a network from BIF text.

    Raises:
        InputError: the text is not BIF, or a table lacks a row.
        StructureError, DomainError, NotStochastic: it is, but describes no network.
    """
    try:
        return _Reader(text).network()
    except (StopIteration, ValueError, KeyError, IndexError) as error:
        raise InputError(
            f"The text is not a Bayesian network in BIF ({type(error).__name__}).",
            remedy="Give a file with `variable` and `probability` blocks as bnlearn writes them.",
        ) from error


class _Reader:
    """A reader of one BIF text, token by token."""

    def __init__(self, text: str) -> None:
        self._tokens = iter(_TOKEN.findall(_COMMENT.sub(" ", text)))
        self._variables: dict[str, Variable] = {}
        self._parents: dict[str, list[str]] = {}
        self._rows: dict[str, dict[tuple[str, ...], list[float]]] = {}
        self._defaults: dict[str, list[float]] = {}

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
        domain = Domain(tuple(self._variables.values()))
        structure = Structure.of({name: self._parents[name] for name in domain.names})
        tables = {name: self._table(domain, name) for name in domain.names}
        return BayesNet(domain, structure, tables)

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
                list(self._until("{"))
                categories = tuple(_label(t) for t in self._until("}"))
            elif word == "property":
                list(self._until(";"))
        self._variables[name] = Variable(name, categories)

    def _until_opened(self) -> Iterator[str]:
        list(self._until("{"))
        return self._until("}")

    def _probability(self) -> None:
        if next(self._tokens) != "(":
            raise ValueError("(")
        names = [_label(t) for t in self._until(")") if t != "|"]
        node, self._parents[names[0]] = names[0], names[1:]
        rows = self._rows.setdefault(node, {})
        for word in self._until_opened():
            if word == "table":
                rows[()] = [float(t) for t in self._until(";")]
            elif word == "(":
                key = tuple(_label(t) for t in self._until(")"))
                rows[key] = [float(t) for t in self._until(";")]
            elif word == "default":
                self._defaults[node] = [float(t) for t in self._until(";")]
            elif word == "property":
                list(self._until(";"))

    def _table(self, domain: Domain, node: str) -> Tensor:
        parents = domain.project(self._parents[node])
        rows = self._rows[node]
        shape = (*parents.shape, domain[node].size)
        if parents.shape and () in rows:
            # `table` lists the node's value slowest, then the parents in order.
            flat = np.array(rows[()]).reshape(domain[node].size, *parents.shape)
            return _normalized(np.moveaxis(flat, 0, -1))
        table = np.empty(shape)
        for index in np.ndindex(*parents.shape):
            key = tuple(v.categories[i] for v, i in zip(parents, index, strict=True))
            row = rows[key] if key in rows else self._defaults[node]
            if len(row) != domain[node].size:
                raise ValueError(node)
            table[index] = row
        return _normalized(table)


def _normalized(table: Tensor) -> Tensor:
    """Take out the rounding of printed probabilities; anything larger is left to be refused."""
    total = table.sum(axis=-1, keepdims=True)
    off = np.abs(total - 1)
    rounded: Tensor = np.where((off > 1e-12) & (off < _PRINTED_ROUNDING), table / total, table)
    return rounded

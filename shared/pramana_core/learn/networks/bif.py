"""Bayesian networks in the Bayesian Interchange Format (BIF 0.15), written and read.

A label in BIF must be a word. In other labels, each character that BIF does not allow is written as
`_xHEX_`, where HEX is its Unicode code point. Reading restores the character.
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
_COMMENT = re.compile(r'("[^"]*")|(?<!:)//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+')

_Rows = dict[str | tuple[str, ...], list[float]]
"""The rows of a node's table; a key is the parents' categories, `table` or `default`."""


def write_bif(network: BayesNet, name: str) -> str:
    """Return a network as BIF text, with full-precision probabilities (17 significant digits)."""
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
    # A word may be an integer, but a word that is not an integer must not begin with a digit.
    if word[0].isdigit() and not word.isdigit():
        word = f"_x{ord(word[0]):X}_{word[1:]}"
    return word


def _label(word: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), word.strip('"'))


def read_bif(text: str) -> BayesNet:
    """Read a network from BIF text, including the dialect of JavaBayes.

    Rows may be in any order; a row whose numbers sum to 1 within 0.01 is scaled to sum 1. Raises
    InputError: the text is not BIF, repeats a name, or has a table with missing or extra rows.
    ChannelError: a row is not a distribution. StructureError, DomainError: the text does not
    describe a network.
    """
    plain = _COMMENT.sub(lambda match: match[1] or " ", text)
    if plain.count('"') % 2:
        raise _malformed("The text is not a Bayesian network in BIF: a quotation mark is missing.")
    try:
        return _network(iter(_TOKEN.findall(plain)))
    except (StopIteration, ValueError, KeyError, IndexError, OverflowError) as error:
        raise _malformed(
            f"The text is not a Bayesian network in BIF ({type(error).__name__})."
        ) from None


def _malformed(message: str, node: str | None = None) -> InputError:
    return InputError(
        message,
        where=node,
        remedy="Give a `variable` and a `probability` block for each node as bnlearn writes them,"
        " with one row for each combination of the parents' categories, or a `default`.",
    )


def _network(tokens: Iterator[str]) -> BayesNet:
    variables: dict[str, Variable] = {}
    parents: dict[str, list[str]] = {}
    rows: dict[str, _Rows] = {}
    for word in tokens:
        if word == "network":
            list(_block(tokens))
        elif word == "variable":
            variable = _variable(tokens)
            if variable.name in variables:
                raise _malformed(f"Node {variable.name!r} is declared twice.", variable.name)
            variables[variable.name] = variable
        elif word == "probability" and next(tokens) == "(":
            node, *names = (_label(t) for t in _until(tokens, ")") if t != "|")
            if node in parents:
                raise _malformed(f"Node {node!r} has two `probability` blocks.", node)
            parents[node], rows[node] = names, _rows(tokens, node)
        else:
            raise ValueError(word)
    for name in variables.keys() ^ parents.keys():
        raise _malformed(f"Node {name!r} has only one of its two blocks.", name)
    domain = Domain(tuple(variables.values()))
    structure = Structure.of({name: parents[name] for name in domain.names})
    tables = {name: _table(domain, name, names, rows[name]) for name, names in parents.items()}
    return BayesNet(domain, structure, tables)


def _until(tokens: Iterator[str], end: str) -> Iterator[str]:
    for word in tokens:
        if word == end:
            return
        if word != ",":
            yield word
    raise ValueError(f"no {end}")


def _block(tokens: Iterator[str]) -> Iterator[str]:
    list(_until(tokens, "{"))
    for word in _until(tokens, "}"):
        if word == "property":
            list(_until(tokens, ";"))
        else:
            yield word


def _variable(tokens: Iterator[str]) -> Variable:
    name = _label(next(tokens))
    categories: tuple[str, ...] = ()
    for word in _block(tokens):
        if word == "type":
            declared = [t for t in _until(tokens, "{") if t.isdigit()]
            categories = tuple(_label(t) for t in _until(tokens, "}"))
            if declared and int(declared[0]) != len(categories):
                raise _malformed(
                    f"Node {name!r} declares {declared[0]} categories, but lists"
                    f" {len(categories)}.",
                    name,
                )
    return Variable(name, categories)


def _rows(tokens: Iterator[str], node: str) -> _Rows:
    rows: _Rows = {}
    for word in _block(tokens):
        key = tuple(_label(t) for t in _until(tokens, ")")) if word == "(" else word
        if key in rows or (word != "(" and key not in ("table", "default")):
            raise _malformed(f"Node {node!r} has an unexpected row {key}.", node)
        try:
            rows[key] = [float(number) for number in _until(tokens, ";")]
        except ValueError:
            raise _malformed(f"Row {key} of node {node!r} must be numbers.", node) from None
    return rows


def _table(domain: Domain, node: str, names: list[str], rows: _Rows) -> Tensor:
    parents, size = domain.project(names), domain[node].size
    if "table" in rows:
        # In `table` the node's value varies slowest, then the parents in order.
        numbers = np.array(rows.pop("table"))
        if rows or numbers.size != size * parents.size:
            raise _malformed(f"The table of node {node!r} has the wrong size.", node)
        return _scaled(np.moveaxis(numbers.reshape(size, *parents.shape), 0, -1), node)
    table = np.empty((*parents.shape, size))
    default = rows.pop("default", None)
    for index in np.ndindex(*parents.shape):
        key = tuple(v.categories[i] for v, i in zip(parents, index, strict=True))
        row = rows.pop(key, default)
        if row is None or len(row) != size:
            raise _malformed(
                f"Node {node!r} needs a row ({', '.join(key)}) of {size} numbers.", node
            )
        table[index] = row
    if rows:
        raise _malformed(
            f"Row {next(iter(rows))} of node {node!r} does not fit the parents' categories.", node
        )
    return _scaled(table, node)


def _scaled(table: Tensor, node: str) -> Tensor:
    total = table.sum(axis=-1, keepdims=True)
    if not (table.min() >= 0 and np.abs(total - 1).max() <= _PRINTED_ROUNDING):
        raise ChannelError(
            f"A row of node {node!r} is not a distribution.",
            where=node,
            remedy="Give probabilities of at least 0 that sum to 1 up to rounding.",
        )
    scaled: Tensor = np.where(np.abs(total - 1) > 1e-12, table / total, table)
    return scaled

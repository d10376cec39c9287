"""How many records go down a tree together: the tree as arrays, walked a level at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pramana_core.domain import Domain
from pramana_core.learn.common.record_columns import record_columns
from pramana_core.learn.tree.node import Node
from pramana_core.marginals.counts import Codes

_CHUNK = 1 << 15
"""Records that go down together: what is known of them stays in the processor's cache."""

_Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Descent:
    """A tree over some inputs.

    `asked` is the row of the input that each node asks, `step[node, code]` the node it leads to (a
    leaf leads to itself) and `leaf` the place of each leaf among the leaves.
    """

    inputs: Domain
    depth: int
    asked: _Places
    step: _Places
    leaf: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, inputs: Domain, root: Node) -> Descent:
        """Number the nodes, each before its children."""
        nodes = list(root)
        asked = np.zeros(len(nodes), dtype=np.int32)
        step = np.repeat(np.arange(len(nodes), dtype=np.int32)[:, None], max(inputs.shape), axis=1)
        for number, node in enumerate(nodes):
            if node.split is not None:
                asked[number] = inputs.axis(node.split.attribute)
                sizes = [0, *(sum(1 for _ in child) for child in node.children[:-1])]
                step[number, : len(node.children)] = number + 1 + np.cumsum(sizes)
        ends = np.cumsum([node.split is None for node in nodes]) - 1
        return cls(inputs, root.depth, asked, step, ends.astype(np.uint32))

    def leaf_of(self, codes: Mapping[str, Codes]) -> Codes:
        """Return the place of each record's leaf.

        Raises:
            UnknownVariable, DomainError: see `record_columns`.
        """
        columns = record_columns(self.inputs, codes)
        found = np.empty(len(columns[0]), dtype=np.uint32)
        for start in range(0, len(found), _CHUNK):
            part = np.concatenate([c[start : start + _CHUNK] for c in columns], dtype=np.int32)
            found[start : start + _CHUNK] = self.leaf[self._walk(part)]
        return found

    def _walk(self, codes: _Places) -> _Places:
        """Return the node at which each record ends, given its codes one input after another."""
        size = len(codes) // len(self.inputs)
        width = self.step.shape[1]
        offset, step = self.asked * np.int32(size), self.step.ravel()
        records = np.arange(size, dtype=np.int32)
        node = np.zeros(size, dtype=np.int32)
        for _ in range(self.depth):
            node = step[node * width + codes[offset[node] + records]]
        return node

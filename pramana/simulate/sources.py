"""Sources of simulated records: a network in a BIF file, or a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.networks.bif import read_bif
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.counts import Codes
from pramana_core.text_files import read_text, unreadable
from pramana_core.wire.parts import code_dtype

DEFAULT_RECORDS = 10_000
"""The default count of records drawn from a network in each run."""


@dataclass(frozen=True, eq=False)
class NetworkSource:
    """A Bayesian network from a file. Every run draws new records, by default `records` of them."""

    name: str
    network: BayesNet
    kind: str = "bif"
    records: int = DEFAULT_RECORDS
    note: str = ""

    @classmethod
    def read(cls, path: Path) -> NetworkSource:
        """Read the network of a BIF file.

        Raises OptionError, InputError.
        """
        try:
            text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(
                f"The network {path} cannot be read: {unreadable(error)}.",
                where="--bif",
                remedy="Name a file in the Bayesian Interchange Format.",
            ) from None
        return cls(path.name, read_bif(text))

    @property
    def domain(self) -> Domain:
        """The network's variables, in the order of the file."""
        return self.network.domain.project(self.network.structure.nodes)

    @property
    def order(self) -> tuple[str, ...]:
        """The order of the file if parents precede children in it, else a topological order."""
        return topological(self.network.structure)

    def same_records(self, records: int) -> bool:  # noqa: ARG002 - as the protocol has it
        """Return False: every run draws new records."""
        return False

    def draw(self, records: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Draw records, parents before children."""
        drawn = self.network.sample(records, rng)
        return {v.name: drawn[v.name].astype(code_dtype(v.size)) for v in self.domain}


@dataclass(frozen=True, eq=False)
class TableSource:
    """The records of a table; `note` describes the changes to its columns.

    A run with all records uses the table unchanged, so runs differ only by randomization. For fewer
    or more records, each run draws rows of the table, without replacement if fewer and with
    replacement if more.
    """

    name: str
    domain: Domain
    codes: Mapping[str, Codes]
    note: str = ""
    kind: str = "table"
    network: None = None

    @property
    def order(self) -> tuple[str, ...]:
        """The order of the columns."""
        return self.domain.names

    @property
    def records(self) -> int:
        """The count of rows in the table."""
        return len(self.codes[self.domain.names[0]])

    def same_records(self, records: int) -> bool:
        """Return whether a run with this many records uses the table unchanged."""
        return records == self.records

    def draw(self, records: int, rng: np.random.Generator) -> dict[str, Codes]:
        """Return the table's records or, for another count, records drawn from them."""
        if self.same_records(records):
            return dict(self.codes)
        rows = rng.choice(self.records, size=records, replace=records > self.records)
        return {name: column[rows] for name, column in self.codes.items()}


Source = NetworkSource | TableSource
"""A source of records."""


def topological(structure: Structure) -> tuple[str, ...]:
    """Return the nodes, parents before children, otherwise in the order of the file."""
    left = list(structure.nodes)
    placed: list[str] = []
    while left:
        node = next(n for n in left if set(structure.parents[n]) <= set(placed))
        left.remove(node)
        placed.append(node)
    return tuple(placed)

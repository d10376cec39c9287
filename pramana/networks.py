"""Reading users' structures, querying networks, and converting networks for other libraries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import numpy as np
from annotated_types import Ge
from pydantic import Field, TypeAdapter, ValidationError

from pramana import exchange
from pramana.exchange import text_of, written
from pramana.frames.codes import MissingColumns, decode, encode, report_missing_columns
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import Frame, as_frame, names_of, shown
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError, StructureError, UnknownVariable
from pramana_core.learn.common.documents import faults
from pramana_core.learn.common.options import Scoring, Seed, require_limit
from pramana_core.learn.networks.bif import read_bif, write_bif
from pramana_core.learn.networks.inference import infer
from pramana_core.learn.networks.network import BayesNet, sample_chunks
from pramana_core.learn.networks.structure import Structure
from pramana_core.marginals.tables import column_of
from pramana_core.ties import first_largest_of_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from pramana_core.learn.networks.structure_learning import LearnedLink
    from pramana_core.marginals.counts import Codes

StructureLike: TypeAlias = Any
"""A dict of each child's parents, a list of (parent, child), a graph of networkx, or a network of
ours or pgmpy's."""

WANTED = (
    "a dict of each node's parents, a list of links (parent, child), a networkx.DiGraph, or a"
    " network of pramana or pgmpy"
)


def structure_of(given: StructureLike, variables: Sequence[str] | None = None) -> Structure:
    """Return a user's structure, with `variables` as additional nodes. Raises StructureError."""
    parents = _parents(given)
    for name in variables or ():
        parents.setdefault(name, [])
    with one_sentence():
        return Structure.of(parents)


def scoring_of(scoring: object) -> Scoring:
    """Return the score for a name, or for a dict of a name and options. Raises OptionError."""
    if isinstance(scoring, Scoring):
        return scoring
    given = {"name": scoring} if isinstance(scoring, str) else scoring
    try:
        with one_sentence():
            return Scoring(**given)  # type: ignore[arg-type]
    except TypeError:
        raise OptionError(
            "scoring must be a name, such as 'bic', or a dict of options, such as"
            " {'name': 'bic', 'c_star': 2.0}, of"
            f" {', '.join(Scoring.__dataclass_fields__)}; it is {shown(scoring)}.",
            where="scoring",
        ) from None


def _parents(given: StructureLike) -> dict[str, list[str]]:
    given = getattr(given, "network_", given)
    given = getattr(given, "structure", given)
    if isinstance(given, Structure):
        return given.as_dict()
    if exchange.is_graph(given):
        nodes, links = exchange.links_of_networkx(given, "structure")
    else:
        try:
            found = _FORM.validate_python(given)
        except ValidationError as error:
            raise StructureError(
                f"structure must be {WANTED}, not {shown(given)} ({faults(error)}).",
                where="structure",
            ) from None
        if isinstance(found, dict):
            listed = [name for names in found.values() for name in names]
            return {**found, **{name: [] for name in listed if name not in found}}
        nodes, links = [name for link in found for name in link], found
    parents: dict[str, list[str]] = {node: [] for node in nodes}
    for parent, child in links:
        parents[child].append(parent)
    return parents


_Name = Annotated[str, Field(strict=True)]
_FORM: TypeAdapter[dict[str, list[str]] | list[tuple[str, str]]] = TypeAdapter(
    dict[_Name, list[_Name]] | list[tuple[_Name, _Name]]
)


class NetworkAnswers:
    """Queries to a network, and its conversion to files and for other libraries."""

    @property
    @abstractmethod
    def network_(self) -> BayesNet:
        """The network that answers the queries."""

    @property
    @abstractmethod
    def learned_links_(self) -> tuple[LearnedLink, ...]:
        """The learned links with their evidence."""

    def to_bif(self, path: str | Path | None = None, *, name: str = "network") -> str | None:
        """Write the network in the Bayesian Interchange Format (BIF 0.15), without loss.

        BIF allows only words: other characters are written as `_xHEX_`, which `from_bif` decodes.

        Args:
            path: the file; None returns the text.
            name: the name of the network.

        Raises NotFitted, InputError.
        """
        return written(write_bif(self.network_, name), path)

    def to_networkx(self) -> Any:
        """Return the structure as a `networkx.DiGraph`.

        Learned links have the attributes gain, confidence and compelled. Raises NotFitted,
        NotInstalled.
        """
        return exchange.to_graph(self.network_.structure, self.learned_links_)

    def to_pgmpy(self) -> Any:
        """Return the network as a pgmpy `DiscreteBayesianNetwork`, categories as state names.

        Raises NotFitted, NotInstalled.
        """
        return exchange.to_pgmpy(self.network_)

    @classmethod
    def from_bif(cls, source: str | Path) -> Self:
        """Return the network from a BIF file or from its text. Raises InputError."""
        with one_sentence():
            return cls._of(read_bif(text_of(source, "source")))

    @classmethod
    def from_pgmpy(cls, model: Any) -> Self:
        """Return the network from a fitted pgmpy `DiscreteBayesianNetwork`. Raises InputError."""
        with one_sentence():
            return cls._of(exchange.of_pgmpy(model))

    @classmethod
    @abstractmethod
    def _of(cls, network: BayesNet) -> Self:
        """Return an object with a network that was not learned here."""

    def predict(
        self,
        frame: Frame,
        target: str | Sequence[str] | None = None,
        *,
        missing_columns: MissingColumns = "warn",
    ) -> npt.NDArray[Any] | pd.DataFrame:
        """Return the most probable category of nodes, given the other nodes of each row.

        Args:
            frame: n rows; missing columns and empty cells are summed out.
            target: the node to predict, or a list of nodes, each predicted separately; by default
                all nodes without a column. Columns of targets are ignored.
            missing_columns: whether nodes that are neither predicted nor columns of the frame
                cause a warning (`warn`), cause an error (`error`) or are accepted (`ignore`).

        Returns:
            (n,) labels if `target` is one name; else a frame with one column per target and the
            index of `frame`. A row of probability zero has None.

        Raises NotFitted, OptionError, UnknownVariable, UnknownCategory, MissingColumn,
        LimitExceeded.
        """
        import pandas as pd

        network, table = self.network_, as_frame(frame, "frame")
        targets = self._targets(target, [str(name) for name in table.columns])
        codes = self._codes(table, targets, missing_columns)
        found = {}
        for name in targets:
            shares = self._posteriors([name], codes)
            labels = np.array([*network.domain[name].categories, None], dtype=object)
            lost = np.isnan(shares).any(axis=1)
            best = np.where(lost, -1, first_largest_of_rows(np.nan_to_num(shares)))
            found[name] = labels[best]
        if isinstance(target, str):
            return found[target]
        return pd.DataFrame(found, index=table.index)

    def predict_proba(
        self,
        frame: Frame,
        target: str | None = None,
        *,
        missing_columns: MissingColumns = "warn",
    ) -> pd.DataFrame:
        """Return the probabilities of a node's categories, given the other nodes of each row.

        Args:
            frame: n rows; see `predict`.
            target: the node; by default the only node without a column.
            missing_columns: as in `predict`.

        Returns:
            (n, categories): one column per category, with the index of `frame`; NaN in a row of
            probability zero.

        Raises the errors of `predict`.
        """
        import pandas as pd

        table = as_frame(frame, "frame")
        targets = self._targets(target, [str(name) for name in table.columns])
        if len(targets) != 1:
            raise OptionError(
                f"target must name one node, because the frame has no column for {len(targets)}"
                f" nodes: {', '.join(targets)}.",
                where="target",
            )
        codes = self._codes(table, targets, missing_columns)
        shares = self._posteriors(targets, codes)
        names = list(self.network_.domain[targets[0]].categories)
        return pd.DataFrame(shares, index=table.index, columns=names)

    def query(
        self, of: str | Sequence[str], given: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return the exact joint distribution of nodes given categories of others, P(of | given).

        Args:
            of: a node or a list of nodes.
            given: the category of each known node.

        Returns:
            one row per combination of categories, with its `probability`; the sum is 1. A node
            called `probability` has the column `probability (variable)`.

        Raises NotFitted, OptionError, UnknownVariable, UnknownCategory, LimitExceeded.
        """
        network = self.network_
        names = names_of(of, "of", some=True)
        if not isinstance(given, Mapping | None):
            raise OptionError(
                f"given must be a dict with one category per known node, not {shown(given)}.",
                where="given",
            )
        known = dict(given or {})
        self._require_nodes(list(known), "given")
        self._require_nodes(names, "of")
        both = [name for name in names if name in known]
        if both:
            raise OptionError(
                f"`of` and `given` both name {both[0]!r}; name it in only one of them.",
                where="of",
            )
        codes: dict[str, Codes] = {names[0]: np.zeros(1, dtype=np.uint8)}
        if known:
            row = {name: [label] for name, label in known.items()}
            codes = encode(row, network.domain.project(list(known)), "given")
        shares = self._posteriors(names, codes)[0]
        if np.isnan(shares).any():
            words = ", ".join(f"{name}={label}" for name, label in known.items())
            raise OptionError(
                f"The combination in given has probability zero in this network: {words}.",
                where="given",
            )
        domain = network.domain.project(names)
        cells = np.indices(domain.shape).reshape(len(names), -1)
        rows = decode(dict(zip(names, cells.astype(np.uint32), strict=True)), domain)
        called = [column_of(name, ("probability",)) for name in rows.columns]
        return rows.set_axis(called, axis=1).assign(probability=shares.ravel())

    def sample(self, n: int, *, seed: int = 0) -> pd.DataFrame:
        """Draw synthetic records from the network; they are as private as the network's source.

        Args:
            n: the number of records.
            seed: the seed of the draws.

        Returns:
            (n, nodes) labels, categorical.

        Raises NotFitted, OptionError.
        """
        network = self.network_
        require_limit(n, Annotated[int, Ge(1)], "n")
        require_limit(seed, Seed, "seed")
        chunks = list(sample_chunks(network, int(n), int(seed)))
        nodes = network.structure.nodes
        codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in nodes}
        return decode(codes, network.domain.project(nodes))

    def score(self, frame: Frame, *, missing_columns: MissingColumns = "warn") -> float:
        """Return the mean log-likelihood of the rows, in nats per record; higher is better.

        Missing nodes are summed out. One row of probability zero makes the mean -inf.

        Args:
            frame: n rows; see `predict`.
            missing_columns: as in `predict`.

        Raises NotFitted, UnknownCategory, MissingColumn.
        """
        codes = self._codes(as_frame(frame, "frame"), [], missing_columns)
        with one_sentence():
            logs = infer(self.network_, (), codes)[1]
        return float(logs.mean())

    def _posteriors(
        self, nodes: Sequence[str], codes: Mapping[str, Codes]
    ) -> npt.NDArray[np.float64]:
        with one_sentence():
            return infer(self.network_, nodes, codes)[0]

    def _targets(self, target: object, columns: Sequence[str]) -> list[str]:
        nodes = self.network_.structure.nodes
        if target is None:
            absent = [name for name in nodes if name not in columns]
            if not absent:
                raise OptionError(
                    "target must name the nodes to predict, because the frame has a column for"
                    f" every node: {', '.join(nodes)}.",
                    where="target",
                )
            return absent
        names = names_of(target, "target", some=True)
        self._require_nodes(names, "target")
        return names

    def _codes(
        self,
        table: pd.DataFrame,
        targets: Sequence[str],
        missing_columns: MissingColumns,
    ) -> dict[str, Codes]:
        network = self.network_
        others = [name for name in network.structure.nodes if name not in targets]
        if not others:
            return {targets[0]: np.zeros(len(table), dtype=np.uint8)}
        codes = encode(table, network.domain.project(others), "frame", missing=True)
        report_missing_columns(table, others, network.structure.nodes, missing_columns)
        return codes

    def _require_nodes(self, names: Sequence[object], argument: str) -> None:
        nodes = self.network_.structure.nodes
        for name in names:
            if name not in nodes:
                raise UnknownVariable(
                    f"{argument} names {name!r}, which is not a node{did_you_mean([name], nodes)};"
                    " the nodes are"
                    f" {', '.join(nodes)}.",
                    where=argument,
                )

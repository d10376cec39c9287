"""What a network says of records and of questions: predictions, likelihoods, samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.frames.absent import MissingColumns, misnamed, tell_of_missing
from pramana.frames.codes import decode, encode
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import Frame, as_frame, shown
from pramana.reporting.files import names_of
from pramana_core.alike import did_you_mean
from pramana_core.errors import OptionError, UnknownVariable
from pramana_core.estimation.table_estimates import column_of
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.records import log_likelihoods, posteriors
from pramana_core.learn.networks.synthetic import sample_chunks
from pramana_core.ties import first_largest_of_rows

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from pramana_core.marginals.counts import Codes


class NetworkAnswers:
    """What can be asked of anything that has a network."""

    @property
    @abstractmethod
    def network_(self) -> BayesNet:
        """The network itself: its structure and a valid table of each node."""

    def predict(
        self,
        frame: Frame,
        target: str | Sequence[str] | None = None,
        *,
        missing_columns: MissingColumns = "warn",
    ) -> npt.NDArray[Any] | pd.DataFrame:
        """Return the most probable category of nodes, given what each row shows of the others.

        Args:
            frame: n rows; columns that are missing and cells that are empty are summed out.
            target: the node to predict, or a list of nodes, each by itself; by default all nodes
                that the frame has no column of. Their own columns in the frame are ignored.
            missing_columns: what is done about nodes that are neither predicted nor columns of the
                frame, and about those that a further column is called alike: `warn` names them,
                `error` refuses the frame, `ignore` says nothing.

        Returns:
            of one target given by its name, (n,) labels; else a frame with a column per target and
            the index of `frame`. A row that the network holds impossible has None.

        Raises:
            NotFitted: nothing was learned.
            OptionError, UnknownVariable: target is no node, or nothing is left to predict; or
                `missing_columns` is not one of these words.
            UnknownCategory, MissingColumn: the frame does not fit the network's nodes, or lacks
                some and that is an error.
            LimitExceeded: what is missing is too much to be summed out exactly.
        """
        import pandas as pd

        network, table = self.network_, as_frame(frame, "frame")
        targets = self._targets(target, [str(name) for name in table.columns])
        codes = self._codes(table, targets, missing_columns, by_default=target is None)
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
        """Return the probabilities of a node's categories, given what each row shows of others.

        Args:
            frame: n rows; see `predict`.
            target: the node; by default the only one that the frame has no column of.
            missing_columns: as in `predict`.

        Returns:
            (n, categories): a column per category, with the index of `frame`; NaN in a row that
            the network holds impossible.

        Raises:
            InputError, OptionError: as in `predict`.
        """
        import pandas as pd

        table = as_frame(frame, "frame")
        targets = self._targets(target, [str(name) for name in table.columns])
        if len(targets) != 1:
            raise OptionError(
                f"target must name one node, for the frame has no column of {len(targets)}:"
                f" {', '.join(targets)}.",
                where="target",
            )
        codes = self._codes(table, targets, missing_columns, by_default=target is None)
        shares = self._posteriors(targets, codes)
        names = list(self.network_.domain[targets[0]].categories)
        return pd.DataFrame(shares, index=table.index, columns=names)

    def query(
        self, of: str | Sequence[str], given: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return the joint distribution of nodes, given the categories of others: P(of | given).

        Exact, by elimination of variables.

        Args:
            of: the node to ask for, or a list of nodes.
            given: the category of each known node.

        Returns:
            a row per combination of categories, with its `probability`; the sum is 1. A node that
            is called so itself has the column `probability (variable)`.

        Raises:
            NotFitted: nothing was learned.
            OptionError: no node, one that is also given, or what is given is impossible.
            UnknownVariable, UnknownCategory: a node or a category that there is not.
            LimitExceeded: too many nodes at once.
        """
        network = self.network_
        names = list(names_of(of, "of", one=True))
        known = self._evidence(given)
        self._require_nodes(names, "of")
        both = [name for name in names if name in known]
        if both:
            raise OptionError(f"of asks for {both[0]!r}, which is given.", where="of")
        codes: dict[str, Codes] = {names[0]: np.zeros(1, dtype=np.uint8)}
        if known:
            row = {name: [label] for name, label in known.items()}
            codes = encode(row, network.domain.project(list(known)), "given")
        shares = self._posteriors(names, codes)[0]
        if np.isnan(shares).any():
            said = ", ".join(f"{name}={label}" for name, label in known.items())
            raise OptionError(
                f"given has probability zero in this network: {said}; nothing follows from it.",
                where="given",
            )
        domain = network.domain.project(names)
        cells = np.indices(domain.shape).reshape(len(names), -1)
        rows = decode(dict(zip(names, cells.astype(np.uint32), strict=True)), domain)
        called = [column_of(name, ("probability",)) for name in rows.columns]
        return rows.set_axis(called, axis=1).assign(probability=shares.ravel())

    def sample(self, n: int, *, seed: int = 0) -> pd.DataFrame:
        """Draw records from the network: synthetic data, as private as what it was learned from.

        Args:
            n: how many.
            seed: decides them; the same seed draws the same records.

        Returns:
            (n, nodes) labels, categorical.

        Raises:
            NotFitted: nothing was learned.
            OptionError: n below 1, or a seed below 0.
        """
        network = self.network_
        for name, number in (("n", n), ("seed", seed)):
            if isinstance(number, bool) or not isinstance(number, int | np.integer):
                raise OptionError(
                    f"{name} must be a whole number, not {shown(number)}.", where=name
                )
        if n < 1:
            raise OptionError(f"n must be at least 1, not {n}.", where="n")
        chunks = list(sample_chunks(network, int(n), int(seed)))
        nodes = network.structure.nodes
        codes = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in nodes}
        return decode(codes, network.domain.project(nodes))

    def score(self, frame: Frame, *, missing_columns: MissingColumns = "warn") -> float:
        """Return the mean log-likelihood of the rows, in nats per record; the higher the better.

        What a row lacks is summed out. One row that the network holds impossible makes it -inf.
        With a prior (`method="map"`) nothing is impossible on counts by `ml`; by `moment` a count
        may be too far below zero for it.

        Args:
            frame: n rows; see `predict`.
            missing_columns: as in `predict`.

        Raises:
            NotFitted: nothing was learned.
            UnknownCategory, MissingColumn: the frame does not fit the network's nodes.
        """
        codes = self._codes(as_frame(frame, "frame"), [], missing_columns)
        with one_sentence():
            logs = log_likelihoods(self.network_, codes)
        return float(logs.mean())

    def _posteriors(
        self, nodes: Sequence[str], codes: Mapping[str, Codes]
    ) -> npt.NDArray[np.float64]:
        with one_sentence():
            return posteriors(self.network_, nodes, codes)

    def _targets(self, target: object, columns: Sequence[str]) -> list[str]:
        nodes = self.network_.structure.nodes
        if target is None:
            absent = [name for name in nodes if name not in columns]
            if not absent:
                raise OptionError(
                    "target must name what to predict, for the frame has a column of every node:"
                    f" {', '.join(nodes)}.",
                    where="target",
                )
            return absent
        names = list(names_of(target, "target", one=True))
        self._require_nodes(names, "target")
        return names

    def _codes(
        self,
        table: pd.DataFrame,
        targets: Sequence[str],
        missing_columns: MissingColumns,
        *,
        by_default: bool = False,
    ) -> dict[str, Codes]:
        """Return what a frame shows of other nodes than the targets, chosen `by_default` or not."""
        network = self.network_
        others = [name for name in network.structure.nodes if name not in targets]
        if not others:
            return {targets[0]: np.zeros(len(table), dtype=np.uint8)}
        codes = encode(table, network.domain.project(others), "frame", missing=True)
        meant = misnamed(table, targets) if by_default else []
        # Nodes are predicted by default if they are missing: then no others are.
        used, nodes = [*others, *meant], network.structure.nodes
        tell_of_missing(table, used, nodes, missing_columns, predicted=bool(meant))
        return codes

    def _evidence(self, given: object) -> dict[str, Any]:
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise OptionError(
                f"given must be a dict of a category per known node, not {shown(given)}.",
                where="given",
            )
        self._require_nodes(list(given), "given")
        return dict(given)

    def _require_nodes(self, names: Sequence[object], argument: str) -> None:
        nodes = self.network_.structure.nodes
        for name in names:
            if name not in nodes:
                raise UnknownVariable(
                    f"{argument} names {name!r}, which is no"
                    f" node{did_you_mean([name], nodes)}; the nodes are"
                    f" {', '.join(nodes)}.",
                    where=argument,
                )

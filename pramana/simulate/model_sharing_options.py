"""What is simulated: how many owners, what they release, and what the miner makes of it.

Commands show these options in their help: so nothing heavy is loaded here, and names that
`pramana_core.model_sharing` has in modules that count are written again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, cast

from annotated_types import Ge, Le, Lt

from pramana_core.errors import OptionError
from pramana_core.learn.common.options import Positive, require_limits
from pramana_core.model_sharing.combine_options import CombineOptions, GlobalName
from pramana_core.model_sharing.combine_options import Method as Combining

Method = Literal["pgen", "basegen", "labelled", "votes", "pooled", "local"]
By = Literal["pruning", "growing"]
Counts = Literal["exact", "propagated"]
Tell = Literal["hits", "distribution"]

COMBINING = ("pgen", "basegen", "labelled", "votes")
"""The methods by which a miner combines owners' trees."""

TELLING = {"pgen": "hits", "basegen": "hits"}
"""What leaves tell unless said otherwise: what is in the paper has hits and misses alone."""


@dataclass(frozen=True)
class SimulationOptions:
    """How sharing is simulated; the defaults are the paper's, unpruned.

    Attributes:
        owners: how many there are; the training records are divided among them at random.
        method: what the miner learns from: pseudo-data by the paths (`pgen`) or labelled by each
            tree (`basegen`) or by the votes of all (`labelled`); the trees themselves (`votes`);
            or, to compare with, all records (`pooled`), and each owner's own tree (`local`).
        model: the global model.
        requirement: what every path of a released tree must meet; None prunes nothing.
        by: whether trees are grown freely and then pruned, as in the paper, or split only where
            all parts can meet the requirement.
        counts: how a merged node's counts are found: exactly, or by the paper's equation 1.
        tell: whether leaves tell hits and misses, or the counts of all classes; None for what
            the method is for.
        scale: pseudo-records for each record that the trees count.
        epsilon: with it trees are differentially private, and the requirement is not asked.
        folds: into how many parts the records are divided; each is held out once.
        runs: how often all of it is repeated with other folds.
        seed: decides folds, owners and pseudo-data.

    Raises:
        OptionError: one of them is out of its range, or two do not go together.
    """

    owners: Annotated[int, Ge(1), Le(1000)] = 5
    method: Method = "pgen"
    model: GlobalName = "tree"
    requirement: Any = None
    by: By = "pruning"
    counts: Counts = "exact"
    tell: Tell | None = None
    scale: Annotated[float, Ge(0.01), Le(100)] = 1.0
    epsilon: Positive | None = None
    folds: Annotated[int, Ge(2), Le(100)] = 10
    runs: Annotated[int, Ge(1), Le(1000)] = 1
    seed: Annotated[int, Ge(0), Lt(2**63)] = 1

    def __post_init__(self) -> None:
        require_limits(self)
        if self.by == "growing" and self.requirement is None:
            raise OptionError(
                "Trees can be grown with a requirement only where there is one.",
                where="by",
                remedy="Give k, or c and l.",
            )
        if self.epsilon is not None:
            from pramana_core.model_sharing.private_options import require_epsilon

            require_epsilon(self.epsilon)
        if self.epsilon is not None and self.requirement is not None:
            raise OptionError(
                "A private tree is bounded by its epsilon and not pruned by a requirement.",
                where="epsilon",
                remedy="Give either epsilon, or k, c and l.",
            )

    @property
    def told(self) -> Tell:
        """What leaves tell."""
        if self.tell is not None:
            return self.tell
        return "hits" if TELLING.get(self.method) == "hits" else "distribution"

    @property
    def combining(self) -> CombineOptions:
        """How the miner combines trees, where it does."""
        method, drawn = cast("Combining", self.method), self.method != "votes"
        return CombineOptions(
            method,
            self.model if drawn else CombineOptions.model,
            scale=self.scale if drawn else CombineOptions.scale,
        )

    def with_(self, **changed: Any) -> SimulationOptions:
        """Return the same with some options changed. Raises OptionError."""
        return replace(self, **changed)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        asked = self.requirement
        return {
            "owners": self.owners,
            "method": self.method,
            "global": self.model,
            "k": None if asked is None else asked.k,
            "c": None if asked is None else asked.c,
            "l": None if asked is None else asked.l,
            "exact": None if asked is None else asked.exact,
            "by": self.by,
            "counts": self.counts,
            "tell": self.told,
            "scale": self.scale,
            "epsilon": self.epsilon,
            "folds": self.folds,
            "runs": self.runs,
            "seed": self.seed,
        }

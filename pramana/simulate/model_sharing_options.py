"""Options of a simulation of shared trees. Importing this module is fast."""

from __future__ import annotations

from dataclasses import dataclass, fields
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


@dataclass(frozen=True)
class SimulationOptions:
    """The options of a simulation of shared trees; by default as in the paper, without pruning.

    Attributes:
        owners: the count of owners, among whom the training records are divided at random.
        method: the input of the global model: pseudo-data drawn from the paths (`pgen`), or
            labelled by single trees (`basegen`) or by the votes of all trees (`labelled`); the
            trees themselves (`votes`); or, for comparison, all records (`pooled`), or each owner's
            own tree (`local`).
        model: the global model.
        requirement: the requirement on every path of a released tree; None prunes nothing.
        by: `pruning` grows trees and then prunes them, as in the paper; `growing` makes only splits
            whose parts can all meet the requirement.
        counts: whether the counts of a merged node are exact or follow the paper's equation 1.
        tell: the counts in leaves, of hits and misses or of all classes; by default the
            method decides.
        scale: pseudo-records per record counted in the trees.
        epsilon: makes trees differentially private, without a requirement.
        folds: the number of parts of the records; each part is held out once.
        runs: the number of repetitions with other folds.
        seed: the seed of folds, owners and pseudo-data.

    Raises OptionError.
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
                "by='growing' needs a requirement.",
                where="by",
                remedy="Pass k, or c and l.",
            )
        if self.epsilon is not None:
            from pramana_core.model_sharing.private_options import require_epsilon

            require_epsilon(self.epsilon)
        if self.epsilon is not None and self.requirement is not None:
            raise OptionError(
                "A tree with epsilon cannot also have a requirement.",
                where="epsilon",
                remedy="Pass either epsilon, or k, or c and l.",
            )

    @property
    def leaf_counts(self) -> Tell:
        """The kind of counts in leaves, as chosen or, if not chosen, as the method requires."""
        default: Tell = "hits" if self.method in ("pgen", "basegen") else "distribution"
        return self.tell or default

    @property
    def combining(self) -> CombineOptions:
        """The options by which the miner combines trees."""
        method = cast("Combining", self.method)
        if method == "votes":
            return CombineOptions(method)
        return CombineOptions(method, self.model, scale=self.scale)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        requirement = own.pop("requirement")
        required = {name: getattr(requirement, name, None) for name in ("k", "c", "l", "exact")}
        return {**own, **required, "global": own.pop("model"), "tell": self.leaf_counts}

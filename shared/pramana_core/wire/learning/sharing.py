"""Model sharing: what is asked of the miner on released trees, and what is answered of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pramana_core.model_sharing.combination.combining import (
    MOST_PSEUDO_RECORDS,
    CombineOptions,
    Method,
    generation_for,
)
from pramana_core.model_sharing.combination.labelling import Labels
from pramana_core.model_sharing.combination.product import MOST_LEAVES
from pramana_core.model_sharing.combination.votes import VoteOptions, Weights
from pramana_core.model_sharing.generation.options import (
    Absent,
    Misses,
    Numeric,
    Spread,
)
from pramana_core.model_sharing.global_models.options import GlobalName, GlobalOptions
from pramana_core.wire.base import Label, Message, Name
from pramana_core.wire.learning.options import WithOptions, options_from, options_in
from pramana_core.wire.releases.knowledge import RequirementMessage
from pramana_core.wire.study_plans import MAX_OWNERS

_Positive = Annotated[float, Field(gt=0, le=1_000)]
_NotNegative = Annotated[float, Field(ge=0, le=1_000_000)]


@options_from(GlobalOptions)
class _Learned(WithOptions):
    kind: Literal["model-sharing"]
    target: Label | None = None
    owners: Annotated[list[Name], Field(min_length=1, max_length=MAX_OWNERS)] | None = None
    method: Method = CombineOptions.method
    model: GlobalName = CombineOptions.model
    pseudo_records: Annotated[int, Field(ge=1, le=MOST_PSEUDO_RECORDS, strict=True)] | None = None
    scale: _Positive = 1.0
    numeric: Numeric | None = None
    absent: Absent | None = None
    misses: Misses | None = None
    spread: Spread | None = None
    labels: Labels = "likeliest"
    weights: Weights = "equal"
    smoothing: _NotNegative = 1.0
    product_leaves: Annotated[int, Field(ge=2, le=MOST_LEAVES, strict=True)] = MOST_LEAVES


class ModelSharingSpec(_Learned):
    """Combine the trees that owners released to one model, without any records.

    `target` is the class, by default the one of all trees, and `owners` whose trees are used, by
    default everybody's. `method` is how: `model` is learned from pseudo-data drawn from the paths
    (`pgen`), drawn evenly and labelled by the owner's tree (`basegen`), or labelled by all trees
    (`labelled`); or the trees themselves are the model, as `votes` or as their `product`, one tree.
    There are as many pseudo-data as the trees count, times `scale`, or `pseudo_records` in all.
    `numeric`, `absent`, `misses` and `spread` say what values they take where a path leaves them
    open, by default all evenly for `pgen` and `basegen`, and for `labelled` by the trees' own
    estimates, `labels` whether a label is the likeliest or drawn, `weights` and `smoothing` how
    trees are weighed that vote. A product has at most `product_leaves` leaves. `seed` decides all
    that is drawn; the other options are those of the model that is learned.
    """

    @model_validator(mode="after")
    def _consistent(self) -> ModelSharingSpec:
        if self.owners is not None and len(set(self.owners)) < len(self.owners):
            raise ValueError("an owner is named twice")
        return self

    def options(self) -> CombineOptions:
        """Return how the trees are combined. Raises OptionError."""
        learning = options_in(self, GlobalOptions)
        return CombineOptions(
            method=self.method,
            model=self.model,
            generation=generation_for(
                self.method,
                records=self.pseudo_records,
                scale=self.scale,
                numeric=self.numeric,
                absent=self.absent,
                misses=self.misses,
                spread=self.spread,
            ),
            labels=self.labels,
            votes=VoteOptions(self.weights, self.smoothing),
            learning=learning,
            most_leaves=self.product_leaves,
            seed=learning.seed,
        )


class UsedTreeMessage(Message):
    """A released tree that a model was made of, as its owner describes it, and how they agree.

    `paths` and `counted` are its paths and the records they count; `requirement`, `counts` and
    `epsilon` are what the release promises (see `KnowledgeModelMessage`). `class_match` is the
    share of pseudo-data, or where there are none of records drawn evenly, of which the model and
    this tree tell the same class, with its standard error; `path_match` the share of their paths
    that both have, null where the model is not one tree. Neither says how often the model is
    right: that cannot be known without true records.
    """

    release: str
    owner: str
    paths: int
    counted: float
    requirement: RequirementMessage | None
    counts: Literal["exact", "propagated", "noised"]
    epsilon: float | None
    class_match: float
    class_match_se: float
    path_match: float | None

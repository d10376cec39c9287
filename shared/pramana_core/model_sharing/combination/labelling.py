"""Pseudo-data labelled by the votes of all trees, in place of the one tree each came from.

A tree knows little of a region where its owner has few records; the votes know what all of them
know. A model learned from such records is the votes in another form (cf. Craven and Shavlik 1996).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.mixed.table import CategoricalColumn, MixedTable
from pramana_core.model_sharing.combination.pooled import pooled_chunks
from pramana_core.model_sharing.combination.votes import TreeVotes
from pramana_core.model_sharing.generation.generating import RECORDS_AT_ONCE
from pramana_core.model_sharing.generation.options import GenerationOptions

Labels = Literal["likeliest", "drawn"]


@dataclass(frozen=True)
class LabellingOptions:
    """How labelled pseudo-data are made.

    Attributes:
        generation: how many records are drawn, and how: from the paths ("pgen") or evenly
            ("basegen").
        labels: the "likeliest" class by the votes, or one "drawn" by its probability.

    Raises:
        OptionError: an option is out of range.
    """

    generation: GenerationOptions = field(default_factory=GenerationOptions)
    labels: Labels = "likeliest"

    def __post_init__(self) -> None:
        if self.labels not in get_args(Labels):
            raise OptionError(
                f"labels must be one of {', '.join(get_args(Labels))}, not {self.labels!r}.",
                where="labels",
            )


def labelled_chunks(
    votes: TreeVotes,
    rng: np.random.Generator,
    options: LabellingOptions | None = None,
    per_chunk: int = RECORDS_AT_ONCE,
) -> Iterator[MixedTable]:
    """Return pseudo-data of the trees, labelled by their votes, in chunks.

    Args:
        votes: the votes of the trees that records are drawn from.
        rng: the randomness; the same gives the same records whatever the size of chunks.
        options: how many records, how they are drawn, and how labelled.
        per_chunk: the most records of a chunk.

    Raises:
        ModelError, OptionError: see `pooled_chunks`.
    """
    options = options or LabellingOptions()
    records, labels = rng.spawn(2)
    # Which classes misses take does not matter: all are labelled anew.
    generation = replace(options.generation, misses="uniform")
    for chunk in pooled_chunks(votes.trees, records, generation, per_chunk):
        attributes = chunk.project(votes.schema.names)
        if options.labels == "likeliest":
            codes = votes.predict(attributes)
        else:
            sums = np.cumsum(votes.probabilities(attributes), axis=1)
            drawn = labels.uniform(size=(chunk.records, 1)) * sums[:, -1:]
            codes = np.count_nonzero(sums <= drawn, axis=1)
        target = votes.schema.target
        column = CategoricalColumn(target.name, codes, target.categories)
        yield MixedTable((*attributes.columns, column), chunk.records)

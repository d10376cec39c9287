"""The jobs that learn association rules, decision trees and linear classifiers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shared.wire.base import MAX_CATEGORIES, MAX_VARIABLES, Label
from shared.wire.counting import CountsSpec, Seed, Variables

MAX_LENGTH = 12
MAX_DEPTH = 64
MAX_STEPS = 1_000_000
MAX_SAMPLE = 1 << 20

Share = Annotated[float, Field(ge=0, le=1)]
"""A share of 0 to 1, both included."""

SomeShare = Annotated[float, Field(gt=0, le=1)]
Level = Annotated[float, Field(gt=0, lt=1)]
Flag = Annotated[bool, Field(strict=True)]
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class AssociationRulesSpec(CountsSpec):
    """Find frequent itemsets and the rules between their parts (Ma 7.1, FRAPP 6).

    An item is a category of a variable. `items` names them by variable; without it they are all
    categories of `variables` (by default of all that are reported), or, with `present`, only the
    category of that name of those that have it. Itemsets have up to `max_length` items.

    `decisions` says how itemsets are held frequent: by their estimates (`point`), or so that the
    share of mistakes among them stays at `false_discovery` (`controlled`). `confidence` is that of
    all intervals, `against` what they and the tests are about: these very records, or the
    population they were drawn from. `consistent` adds supports made consistent with each other.
    Rules have a confidence of at least `minimum_confidence`; if `certain`, the lower end of its
    interval has.
    """

    kind: Literal["association-rules"]
    minimum_support: SomeShare
    minimum_confidence: Share = 0.8
    certain: Flag = False
    max_length: Annotated[int, Field(ge=1, le=MAX_LENGTH, strict=True)] = 8
    decisions: Literal["point", "controlled"] = "point"
    confidence: Level = 0.95
    false_discovery: Level = 0.05
    against: Literal["records", "population"] = "records"
    consistent: Flag = False
    variables: Variables | None = None
    present: Label | None = None
    items: (
        Annotated[
            dict[Label, Annotated[list[Label], Field(min_length=1, max_length=MAX_CATEGORIES)]],
            Field(min_length=1, max_length=MAX_VARIABLES),
        ]
        | None
    ) = None


class DecisionTreeSpec(CountsSpec):
    """Learn a tree that tells a class from other variables (Ma 7.2).

    `target` is the class and `attributes` what it is told from, by default all else that is
    reported. A node is split by the attribute of the largest information gain, or gain ratio, if
    chance alone would show as much in no more than a share `significance` of cases (null: without a
    test), if it tells as much of the class as `least_records` records without noise, and above
    `max_depth`. `prune` takes back splits that do not earn their description. `shrinkage` is by how
    much children's class probabilities usually differ from their parent's: the noisier a child's
    own, the more it takes of the parent's (null: nothing).
    """

    kind: Literal["decision-tree"]
    target: Label
    attributes: Variables | None = None
    criterion: Literal["gain", "gain-ratio"] = "gain"
    max_depth: Annotated[int, Field(ge=0, le=MAX_DEPTH, strict=True)] | None = None
    significance: SomeShare | None = 0.05
    least_records: Amount = 10.0
    prune: Flag = True
    shrinkage: SomeShare | None = 0.1


class LinearClassifierSpec(CountsSpec):
    """Learn planes that tell a class from other variables (Ma 6).

    `target` is the class and `features` what it is told from, by default all else that is reported.
    `loss` is logistic, squared error, or the perceptron's, the share of records classified wrong;
    `l2` penalizes the squares of scaled weights. `encoding` makes of a variable without
    representatives a column per category or one of the categories' numbers; `numeric` gives such
    numbers by variable. `counts` are those that are fitted to: raw, expected, or (null) raw where
    these have a solution. `steps` is the most updates of the perceptron, `sample` the records drawn
    from a learned network where all variables have too many cells together; `seed` decides both.
    """

    kind: Literal["linear-classifier"]
    target: Label
    features: Variables | None = None
    loss: Literal["perceptron", "least-squares", "logistic"] = "logistic"
    l2: Amount = 0.0
    encoding: Literal["indicator", "ordinal"] = "indicator"
    numeric: Annotated[
        dict[
            Label,
            Annotated[
                list[Annotated[float, Field(allow_inf_nan=False)]],
                Field(min_length=2, max_length=MAX_CATEGORIES),
            ],
        ],
        Field(default_factory=dict, max_length=MAX_VARIABLES),
    ]
    counts: Literal["raw", "expected"] | None = None
    steps: Annotated[int, Field(ge=1, le=MAX_STEPS, strict=True)] = 2_000
    sample: Annotated[int, Field(ge=1, le=MAX_SAMPLE, strict=True)] = 1 << 16
    seed: Seed = 0

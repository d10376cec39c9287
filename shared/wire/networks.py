"""The jobs that learn Bayesian networks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shared.wire.base import MAX_DRAWS, MAX_PARENTS, MAX_VARIABLES, Label, Message
from shared.wire.counting import CountsSpec, Variables


class LikelihoodScore(Message):
    """The default score: the likelihood of the reports, its penalty the same at every noise."""

    name: Literal["likelihood"] = "likelihood"


Eta = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


class BicScore(Message):
    """BIC of estimated counts; `c_star` multiplies its penalty (Ma 5.5.2)."""

    name: Literal["bic"]
    eta: Eta = 1.0
    c_star: Positive = 1.0


class BayesianScore(Message):
    """The Bayesian score of estimated counts (Ma 5.5.1); `alpha` is per cell."""

    name: Literal["bayesian"]
    eta: Eta = 1.0
    alpha: Positive = 1.0


class BdeuScore(Message):
    """BDeu of estimated counts; the prior weighs as much as `equivalent_sample_size` records."""

    name: Literal["bdeu"]
    eta: Eta = 1.0
    equivalent_sample_size: Positive = 10.0


ScoreMessage = Annotated[
    LikelihoodScore | BicScore | BayesianScore | BdeuScore, Field(discriminator="name")
]


class SearchMessage(Message):
    """How to search: K2 along `order`, or without one hill climbing.

    Hill climbing goes on for `tabu` moves after the last improvement. K2 as printed only adds
    parents; refined it also drops and exchanges them.
    """

    order: Annotated[list[Label], Field(min_length=1, max_length=MAX_VARIABLES)] | None = None
    max_parents: Annotated[int, Field(ge=1, le=MAX_PARENTS, strict=True)] = 3
    tabu: Annotated[int, Field(ge=0, le=1000, strict=True)] = 50
    refine: Annotated[bool, Field(strict=True)] = True


class _ParameterOptions(CountsSpec):
    """How parameters are learned; see `BayesNetParametersSpec`."""

    method: Literal["ml", "map"] = "ml"
    alpha: Positive = 1.0


class BayesNetParametersSpec(_ParameterOptions):
    """Learn the parameters of a network of given structure (Ma 5.4).

    `structure` lists the parents of every node. `alpha` is the Dirichlet parameter of each cell
    and belongs to method `map`.
    """

    kind: Literal["bayes-net-parameters"] = "bayes-net-parameters"
    structure: Annotated[dict[Label, list[Label]], Field(min_length=1, max_length=MAX_VARIABLES)]


class BayesNetStructureSpec(_ParameterOptions):
    """Learn the structure of a network over some variables, then its parameters (Ma 5.5).

    `variables` are by default all that are reported. `draws` bootstrap samples, which `seed`
    decides, tell how sure each link is; 0 draws none. The other options are those of
    `bayes-net-parameters`; a score other than the likelihood uses their estimator too.
    """

    kind: Literal["bayes-net-structure"]
    variables: Variables | None = None
    score: ScoreMessage = LikelihoodScore()
    search: SearchMessage = SearchMessage()
    draws: Annotated[int, Field(ge=0, le=MAX_DRAWS, strict=True)] = 200
    seed: Annotated[int, Field(ge=0, lt=1 << 53, strict=True)] = 0

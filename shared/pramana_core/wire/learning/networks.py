"""The jobs that learn Bayesian networks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pramana_core.learn.common.options import Positive, Seed, Share
from pramana_core.learn.networks.structure import DRAWS, Draws, ParameterOptions, Scoring, Search
from pramana_core.wire.base import MAX_VARIABLES, Label
from pramana_core.wire.learning.learners import CountsSpec, Variables
from pramana_core.wire.learning.options import WithOptions, options_from, options_in


class LikelihoodScore(WithOptions):
    """The default score: the likelihood of the reports, its penalty the same at every noise."""

    name: Literal["likelihood"] = "likelihood"


class BicScore(WithOptions):
    """BIC of estimated counts; `c_star` multiplies its penalty (Ma 5.5.2)."""

    name: Literal["bic"]
    eta: Share = Scoring.eta
    c_star: Positive = Scoring.c_star


class BayesianScore(WithOptions):
    """The Bayesian score of estimated counts (Ma 5.5.1); `alpha` is per cell."""

    name: Literal["bayesian"]
    eta: Share = Scoring.eta
    alpha: Positive = Scoring.alpha


class BdeuScore(WithOptions):
    """BDeu of estimated counts; the prior weighs as much as `equivalent_sample_size` records."""

    name: Literal["bdeu"]
    eta: Share = Scoring.eta
    equivalent_sample_size: Positive = Scoring.equivalent_sample_size


ScoreMessage = Annotated[
    LikelihoodScore | BicScore | BayesianScore | BdeuScore, Field(discriminator="name")
]


Order = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MAX_VARIABLES)]


@options_from(Search, order=Order | None)
class SearchMessage(WithOptions):
    """How to search: K2 along `order`, or without one hill climbing.

    Hill climbing goes on for `tabu` moves after the last improvement. K2 as printed only adds
    parents; refined it also drops and exchanges them.
    """

    def options(self) -> Search:
        """Return how to search. Raises OptionError."""
        return options_in(self, Search)


class WithParameters(WithOptions):
    """The base of messages that say how a network's parameters are learned."""

    def parameters(self) -> ParameterOptions:
        """Return how parameters are learned. Raises OptionError."""
        return options_in(self, ParameterOptions)


@options_from(ParameterOptions)
class _ParameterOptions(CountsSpec, WithParameters):
    """How parameters are learned; see `BayesNetParametersSpec`."""


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
    draws: Annotated[Draws, Field(strict=True)] = DRAWS
    seed: Annotated[Seed, Field(strict=True)] = 0

    def scoring(self) -> Scoring:
        """Return what a link is worth."""
        return Scoring(**self.score.model_dump())

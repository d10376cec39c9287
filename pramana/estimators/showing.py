"""How estimators show themselves: pictures, and what a notebook prints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pramana.frames.tables import shown
from pramana.showing.charts import plotted
from pramana.showing.html import DIGITS, card, plain
from pramana_core.errors import OptionError
from pramana_core.pictures.chart import Picture
from pramana_core.privacy.amplification import Amplification

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.learn.networks.search.structure_learning import LearnedLink


class PlotMixin:
    """What every estimator has of pictures: `plot`, and what a notebook shows."""

    kind: ClassVar[str]
    n_records_: int
    plan_digests_: tuple[str, ...]
    gamma_: float
    epsilon_: float
    estimated_by_: str
    lack_of_fit_: tuple[str, ...]
    filled_in_: str

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what was learned.

        A tree or a network is drawn to scale, with letters as large as the axes allow; weights,
        itemsets and rules as a row each, with their intervals. On a grid of axes make the figure
        with `layout="constrained"`, so that names beside an axis have room.

        Args:
            ax: matplotlib axes to draw on; None makes a figure of the picture's own size.

        Returns:
            the axes.

        Raises:
            NotFitted: nothing was learned.
            OptionError: `ax` is no axes.
        """
        self._require_fitted()
        return plotted(self._picture(), ax)

    @abstractmethod
    def __sklearn_is_fitted__(self) -> bool:
        """Whether something was learned."""

    @abstractmethod
    def _require_fitted(self) -> None:
        """Raise NotFitted where nothing was learned."""

    @abstractmethod
    def source_told(self) -> str:
        """Return in words what was learned from."""

    @abstractmethod
    def _options_told(self) -> str:
        """Return the options that are not the defaults, as in a call."""

    def _picture(self) -> Picture:
        """Return what `plot` draws."""
        told: Any = self
        return picture_of(told.model_, getattr(self, "learned_links_", ()))

    def _facts(self) -> list[tuple[str, str]]:
        """Return what is known of the model besides where it was learned from."""
        return [("errors", _ERRORS[self.kind])]

    def _numbers(self) -> pd.DataFrame | None:
        """Return the main numbers, a row each; None if there are none."""
        told: Any = self
        frame: pd.DataFrame = told.to_frame()
        return frame

    def _learned_from(self) -> list[tuple[str, str]]:
        """Return the records, plans and amplification that were learned from, and by what."""
        if not self.plan_digests_:
            return [("source", self.source_told())]
        plans = ", ".join(digest[:DIGITS] for digest in self.plan_digests_)
        return [
            (
                "learned from",
                f"{self.n_records_:,} records, counts estimated by {self.estimated_by_}",
            ),
            ("whole record", Amplification(self.epsilon_).told),
            ("plan" if len(self.plan_digests_) == 1 else "plans", plans),
            *(("warning", words) for words in self.lack_of_fit_),
            *(("filled in", words) for words in [self.filled_in_] if words),
        ]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: before `fit` the options, after it the model."""
        if not self.__sklearn_is_fitted__():
            return plain(repr(self))
        heading = f"{type(self).__name__}({self._options_told()})"
        facts = self._learned_from() + self._facts()
        return card(heading, facts, self._picture().svg(), self._numbers(), "to_frame() has all")


_ERRORS = {
    "decision-tree": "95 % intervals of leaves against the population, given the splits",
    "linear-classifier": "95 % intervals of weights against the population",
    "bayes-classifier": "95 % intervals of probabilities against the population",
    "bayes-net": "95 % intervals of parameters against the population, given the links",
}
"""Which errors the models of a kind of estimator have."""


def picture_of(model: object, links: Sequence[LearnedLink] = ()) -> Picture:
    """Return the picture of a model that was learned.

    Args:
        model: a tree, a classifier, a network, a regression.
        links: what was learned of a network's links.

    Raises:
        OptionError: it is not one of these.
    """
    from pramana_core.learn.bayes_classifier.exchange import bayes_chart
    from pramana_core.learn.bayes_classifier.model import BayesClassifier
    from pramana_core.learn.linear.exchange import weights_chart
    from pramana_core.learn.linear.model import LinearClassifier
    from pramana_core.learn.networks.bayes_net import LearnedBayesNet
    from pramana_core.learn.networks.exchange.drawing import draw_structure
    from pramana_core.learn.tree.drawing import draw_tree
    from pramana_core.learn.tree.model import DecisionTree
    from pramana_core.regression.drawing import effects_chart
    from pramana_core.regression.model import RegressionModel

    if isinstance(model, RegressionModel):
        return effects_chart(model)
    if isinstance(model, DecisionTree):
        return draw_tree(model)
    if isinstance(model, BayesClassifier):
        return bayes_chart(model)
    if isinstance(model, LinearClassifier):
        return weights_chart(model)
    if isinstance(model, LearnedBayesNet):
        confidence = {(link.parent, link.child): link.confidence for link in links}
        return draw_structure(model.structure, confidence=confidence)
    raise OptionError(f"model must be a learned model, not {shown(model)}.", where="model")

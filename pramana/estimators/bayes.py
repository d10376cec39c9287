"""Bayesian classifiers: naive Bayes and tree-augmented naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import TYPE_CHECKING, Any

from pramana.estimators.base import Estimator, estimator
from pramana.estimators.classifiers import Classifier
from pramana_core.learn.bayes_classifier.exchange import bayes_chart, write_bayes_classifier_text
from pramana_core.learn.bayes_classifier.model import BayesClassifier as Learned
from pramana_core.learn.common.options import BayesClassifierOptions, BayesModel
from pramana_core.learn.learners import BAYES
from pramana_core.pictures.plots import Picture

if TYPE_CHECKING:
    import pandas as pd


@estimator
class BayesClassifier(Classifier[Learned]):
    """A Bayesian network in which each attribute depends on the class and at most one attribute.

    Naive Bayes (Ma 5.6), or the tree of Friedman, Geiger and Goldszmidt (1997).

    Args:
        target: the class variable.
        features: the variables that predict the class; by default all others.
        model: `naive-bayes`, in which an attribute has only the class as parent; `tan`, in which an
            attribute may have one other attribute as parent too; or `auto`, which keeps only those
            links of the tree whose gain exceeds the noise of their parameters, and gives less
            weight to redundant and to noisy attributes.
        alpha: the pseudo-count of every cell, in records as noisy as the reports; above 0.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> plan, keys = pm.plan(domain, p=0.1), pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id=people.index)
        >>> model = pm.BayesClassifier("survived", model="tan").fit(reports)
        >>> model.links_
        (('sex', 'class'), ('class', 'age'))
    """

    learner = BAYES

    target: str
    features: Sequence[str] | None = None
    _: KW_ONLY
    model: BayesModel = BayesClassifierOptions.model
    alpha: float = BayesClassifierOptions.alpha

    @classmethod
    def from_job(cls, job: Mapping[str, Any]) -> Estimator:
        """Return the estimator of a job, given the job's options."""
        if job["model"] == "naive-bayes":
            return NaiveBayes(job["target"], job["features"], alpha=job["alpha"])
        return super().from_job(job)

    @property
    def links_(self) -> tuple[tuple[str, str], ...]:
        """The (parent, child) pairs of attributes; empty for naive Bayes."""
        return self._fitted.links

    @property
    def weight_(self) -> float:
        """The factor on the joint evidence of all attributes, above 0 and at most 1."""
        return self._fitted.weight

    def _picture(self) -> Picture:
        return bayes_chart(self._fitted)

    def to_text(self) -> str:
        """Return the attributes with their probabilities in percent, the most informative first."""
        return write_bayes_classifier_text(self._fitted)

    def to_frame(self) -> pd.DataFrame:
        """Return the parameters, one row per category of a variable and combination of its parents.

        Columns: `variable`, the class first; `category`; `class`, missing in the rows of the class
        variable; `given`, the other parents' categories (`age=child`); `probability`, used for
        prediction; `estimate`, the raw ratio of counts, which may be outside [0, 1] or missing;
        `se_records` and `se_population`, the standard errors given these records and against their
        population; `low` and `high`, the 95 % interval against the population.
        """
        import pandas as pd

        rows = []
        for one in self._fitted.learned.parameters():
            given = dict(one.parents)
            of_class = given.pop(self._fitted.target.name, None)
            low, high = one.interval
            rows.append(
                {
                    "variable": one.node,
                    "category": one.value,
                    "class": of_class,
                    "given": ", ".join(f"{name}={label}" for name, label in given.items()),
                    "probability": one.probability,
                    "estimate": one.estimate,
                    "se_records": one.se_records,
                    "se_population": one.se,
                    "low": low,
                    "high": high,
                }
            )
        numbers = dict.fromkeys(("estimate", "se_records", "se_population"), float)
        return pd.DataFrame(rows).astype(numbers)


@estimator
class NaiveBayes(BayesClassifier):
    """Naive Bayes: attributes that are independent given the class (Ma 5.6).

    Naive Bayes uses only the tables of the class with each feature. On an unrandomized table the
    model equals scikit-learn's `CategoricalNB`.

    Args:
        target: the class variable.
        features: the variables that predict the class; by default all others.
        alpha: the pseudo-count of every cell, in records as noisy as the reports; above 0.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.domain(people, pm.observed_categories(people))
        >>> plan, keys = pm.plan(domain, p=0.1), pm.Keys.for_experiments(1)
        >>> reports = pm.randomize(people, plan, keys, record_id=people.index)
        >>> model = pm.NaiveBayes("survived", ["sex", "class"]).fit(reports)
        >>> model.predict_proba({"sex": ["female"], "class": ["1st"]}).round(2)
        array([[0.11, 0.89]])
        >>> round(model.score(people), 3)
        0.776
        >>> columns = ["category", "class", "probability", "low", "high"]
        >>> print(model.to_frame()[columns].tail(2).round(2).to_string(index=False))
        category class  probability  low  high
            crew    no         0.43 0.40  0.46
            crew   yes         0.33 0.28  0.38
    """

    model: BayesModel = field(default="naive-bayes", init=False)

    def job_options(self) -> dict[str, Any]:
        """Return the fields of the equivalent job at a miner."""
        return {**super().job_options(), "model": "naive-bayes"}

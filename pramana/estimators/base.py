"""What all estimators have in common: options to read and set, and where a fit comes from."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from pramana.frames.tables import Frame
from pramana.reporting.estimating import EstimatedCounts, Source, estimate
from shared.errors import NotFitted, OptionError
from shared.plan import Plan


class Estimator(ABC):
    """A learner: options in the constructor, `fit`, and attributes that end with an underscore.

    After `fit` there are `n_records_`, `plan_digests_`, `gamma_`, `epsilon_` (each of a whole
    record, the largest of several sources) and `estimated_by_`.
    """

    kind: ClassVar[str]
    """How its saved form and the miner's job call it."""

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the options by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **options: Any) -> Self:
        """Change options. Raises OptionError for one that there is not."""
        names = self._names()
        for name, value in options.items():
            if name not in names:
                raise OptionError(
                    f"{type(self).__name__} has no option {name!r}; it has {', '.join(names)}.",
                    where=name,
                )
            setattr(self, name, value)
        return self

    def fit(
        self,
        reports: EstimatedCounts | Source | Sequence[Source] | Frame,
        plan: Plan | None = None,
    ) -> Self:
        """Learn from reports and their plan, or from counts that `pm.estimate` made of them.

        Returns:
            itself.
        """
        if not isinstance(reports, EstimatedCounts):
            reports = estimate(reports, plan)
        self._learn(reports)
        told = [source.amplification for source in reports.sources]
        self.n_records_ = reports.records
        self.plan_digests_ = tuple(source.plan.digest for source in reports.sources)
        self.epsilon_ = max(one.epsilon for one in told)
        self.gamma_ = max(one.gamma for one in told)
        self.estimated_by_ = reports.estimator
        return self

    @abstractmethod
    def _learn(self, counts: EstimatedCounts) -> None:
        """Set the fitted attributes of this learner."""

    def _require_fitted(self) -> None:
        if not hasattr(self, "n_records_"):
            raise NotFitted(
                f"This {type(self).__name__} has not learned anything yet; call fit first.",
                where=type(self).__name__,
            )

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

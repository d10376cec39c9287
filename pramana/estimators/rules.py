"""Frequent itemsets and association rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from typing import TYPE_CHECKING, Any

from pramana.estimators.base import Estimator, estimator
from pramana.frames.tables import names_of, shown
from pramana.reporting.estimating import EstimatedCounts
from pramana_core.domain import Domain
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import (
    MINIMUM_CONFIDENCE,
    Against,
    Decisions,
    RuleOptions,
    require_limit,
)
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.rules.documents import RuleFindings, read_findings, write_findings
from pramana_core.learn.rules.drawing import itemsets_chart, rules_chart
from pramana_core.learn.rules.frames import itemsets_frame, rules_frame
from pramana_core.learn.rules.itemsets import items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.learn.worth import rules_worth
from pramana_core.marginals.support_counts import Item
from pramana_core.pictures.plots import Picture
from pramana_core.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

_NUMBERS = (
    "antecedents",
    "consequents",
    "support",
    "confidence",
    "confidence_low",
    "confidence_high",
    "lift",
)
"""The columns of the rules in a notebook."""

_ANSWERED = {"kind", "records", "items", "examined", "modelled_from", "itemsets", "rules"}
"""The parts of a miner's model that `restore` reads."""


@estimator
class AssociationRules(Estimator):
    """Frequent itemsets, and rules "records with categories A often have categories B" (Ma 7.1).

    An item is a category of a variable; an itemset has at most one item of each variable (Ma 7.1.2;
    FRAPP 6).

    Args:
        minimum_support: the smallest share of records that have a frequent itemset, above 0 and at
            most 1.
        minimum_confidence: the smallest confidence of a rule, from 0 to 1.
        certain: whether `minimum_confidence` applies to the lower end of the interval instead of
            the estimate.
        max_length: the largest number of items of an itemset, or of both sides of a rule together,
            1 to 12.
        decisions: `point` accepts itemsets whose estimated support reaches the minimum;
            `controlled` limits the expected share of false itemsets to `false_discovery`.
        confidence: the confidence level of intervals and verdicts.
        false_discovery: the rate of `controlled` decisions.
        against: `records` for intervals and verdicts about these records, `population` for
            intervals and verdicts about the population that the records come from.
        variables: the variables whose categories are items; None for all.
        present: the only category that is an item, such as `"yes"`; variables without it have no
            items.
        items: the categories that are items, by variable: `{"sex": ["female"]}`.

    Attributes:
        rules_: the rules in mlxtend's form, `antecedents` and `consequents` (frozensets of
            `variable=category`) and its measures, then the standard error and the interval of
            support, confidence, lift and leverage (`confidence_se`, `confidence_low`, ...).
            `against` decides what these errors refer to.
        itemsets_: the frequent itemsets in mlxtend's form, `support` (a share) and `itemsets`, then
            `support_se`, `support_low`, `support_high` (which follow `against`), `se_records`,
            `se_population` (both errors), `verdict` and `p_value`.
        model_: all examined itemsets, and the rules.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.Domain.of(sex=["female", "male"], survived=["no", "yes"])
        >>> plan = pm.Plan.unrandomized(domain)
        >>> found = pm.AssociationRules(0.1, minimum_confidence=0.7).fit(people, plan)
        >>> for rule in found.rules_.itertuples():
        ...     print(*rule.antecedents, "->", *rule.consequents, round(rule.confidence, 3))
        sex=female -> survived=yes 0.732
        sex=male -> survived=no 0.788
        survived=no -> sex=male 0.915
    """

    kind = "association-rules"

    minimum_support: float
    minimum_confidence: float = MINIMUM_CONFIDENCE
    _: KW_ONLY
    certain: bool = False
    max_length: int = RuleOptions.max_length
    decisions: Decisions = RuleOptions.decisions
    confidence: float = RuleOptions.confidence
    false_discovery: float = RuleOptions.false_discovery
    against: Against = RuleOptions.against
    variables: Sequence[str] | None = None
    present: str | None = None
    items: Mapping[str, Sequence[str]] | None = None

    @property
    def rules_(self) -> pd.DataFrame:
        """The rules, one row each, sorted by length."""
        return rules_frame(self._fitted.itemsets, self._fitted.rules)

    @property
    def itemsets_(self) -> pd.DataFrame:
        """The frequent itemsets, one row each, by length."""
        return itemsets_frame(self._fitted.itemsets)

    @property
    def examined_(self) -> pd.DataFrame:
        """All examined itemsets, whether frequent or not, in the form of `itemsets_`."""
        return itemsets_frame(self._fitted.itemsets, examined=True)

    @property
    def _fitted(self) -> RuleFindings:
        self._require_fitted()
        return self.model_

    def to_frame(self) -> pd.DataFrame:
        """Return `rules_`. Raises NotFitted."""
        return self.rules_

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        options = self._options_of(RuleOptions)
        require_limit(self.certain, bool, "certain")
        items = _wanted(counts.domain, self.variables, self.present, self.items)
        found = mine_itemsets(counts.marginals, items, options, on_step)
        rules = derive_rules(found, counts.marginals, self.minimum_confidence, certain=self.certain)
        self.model_: RuleFindings = RuleFindings(found, rules)

    def _weigh(self, counts: EstimatedCounts) -> Worth:  # noqa: ARG002 - rules have their errors
        found = self.model_
        return rules_worth(found.itemsets.options, found.rules, self.minimum_confidence)

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return a miner's model in the form that `restore` reads."""
        document = model.model_dump(mode="json", include=_ANSWERED)
        return {**document, "options": asdict(model.spec.options())}

    def _document(self) -> dict[str, Any]:
        return write_findings(self.model_.itemsets, self.model_.rules)

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = read_findings(document)

    def _picture(self) -> Picture:
        found = self._fitted
        if not found.rules:
            return itemsets_chart(found.itemsets)
        return rules_chart(found.itemsets, found.rules)

    def _numbers(self) -> pd.DataFrame:
        return self.rules_[list(_NUMBERS)].sort_values(
            "confidence_low", ascending=False, ignore_index=True
        )


def _wanted(
    domain: Domain,
    variables: Sequence[str] | None,
    present: str | None,
    items: Mapping[str, Sequence[str]] | None,
) -> tuple[Item, ...]:
    if present is not None and items is not None:
        raise OptionError(
            "Pass either items, which lists categories by variable, or present, which names one"
            " category for all variables, not both.",
            where="items",
        )
    if present is not None and not isinstance(present, str):
        raise OptionError(f"present must be a category, not {shown(present)}.", where="present")
    if items is not None:
        if not isinstance(items, Mapping):
            raise OptionError(
                'items must be a dict of lists of categories by variable, {"sex": ["female"]}, not'
                f" {shown(items)}.",
                where="items",
            )
        named = {
            name: names_of(labels, f"items[{name!r}]", some=True) for name, labels in items.items()
        }
        return items_of(domain.project(list(named)), None, named)
    if variables is not None:
        domain = domain.project(names_of(variables, "variables", some=True))
    return items_of(domain, present)

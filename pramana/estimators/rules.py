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
"""The columns of rules that a notebook shows."""

_ANSWERED = {"kind", "records", "items", "examined", "modelled_from", "itemsets", "rules"}
"""The parts of a miner's model that `restore` takes."""


@estimator
class AssociationRules(Estimator):
    """Frequent itemsets, and rules "records with these categories often have those too" (Ma 7.1).

    An item is a category of a variable; an itemset has at most one of each variable (Ma 7.1.2;
    FRAPP 6).

    Args:
        minimum_support: the least share of the records with both sides, above 0 and at most 1.
        minimum_confidence: the least confidence, from 0 to 1.
        certain: apply `minimum_confidence` to the lower end of the interval, not to the estimate.
        max_length: the most items of an itemset, which is both sides of a rule, 1 to 12.
        decisions: `point` takes itemsets whose estimate reaches the minimum; `controlled` keeps the
            expected share of false ones among them at `false_discovery`.
        confidence: of intervals and verdicts.
        false_discovery: the rate of `controlled` decisions.
        against: whether intervals and verdicts are given these `records`, or against the
            `population` they were drawn from.
        variables: whose categories are items; None for all.
        present: the one category that is an item, of the variables that have it: say `"yes"`.
        items: the categories that are items, by variable: `{"sex": ["female"]}`.

    Attributes:
        rules_: the rules in mlxtend's form, `antecedents` and `consequents` (frozensets of
            `variable=category`) and its measures, then the standard error and the interval of
            support, confidence, lift and leverage (`confidence_se`, `confidence_low`, ...), of the
            kind of `against`.
        itemsets_: the frequent itemsets in mlxtend's form, `support` (a share) and `itemsets`,
            then `support_se`, `support_low`, `support_high` (of the kind of `against`),
            `se_records`, `se_population` (both errors), `verdict` and `p_value`.
        model_: all itemsets that were examined, and the rules.

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
        """The rules, a row each, by length."""
        return rules_frame(self._fitted.itemsets, self._fitted.rules)

    @property
    def itemsets_(self) -> pd.DataFrame:
        """The frequent itemsets, a row each, by length."""
        return itemsets_frame(self._fitted.itemsets)

    @property
    def examined_(self) -> pd.DataFrame:
        """All itemsets that were examined, in the form of `itemsets_`."""
        return itemsets_frame(self._fitted.itemsets, examined=True)

    @property
    def _fitted(self) -> RuleFindings:
        self._require_fitted()
        return self.model_

    def to_frame(self) -> pd.DataFrame:
        """Return the rules as `rules_`. Raises NotFitted."""
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
        """Return a miner's model as `restore` takes it."""
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
    """Return the chosen items, in the order of the domain."""
    if present is not None and items is not None:
        raise OptionError(
            "items and present exclude each other: items names the categories that are items,"
            " present the one of all variables.",
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

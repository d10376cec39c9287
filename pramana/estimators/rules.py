"""Frequent itemsets and association rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict
from typing import TYPE_CHECKING, Any

from pramana.estimators.base import Estimator, estimator
from pramana.frames.tables import shown
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
from pramana_core.learn.rules.documents import RuleFindings, read_findings, write_findings
from pramana_core.learn.rules.drawing import itemsets_chart, rules_chart
from pramana_core.learn.rules.frames import itemsets_frame, rules_frame
from pramana_core.learn.rules.itemsets import chosen_items, items_wanted
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import derive_rules
from pramana_core.marginals.support_counts import Item
from pramana_core.pictures.plots import Picture
from pramana_core.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

_ITEMSET_NUMBERS = ("itemsets", "support", "support_se", "support_low", "support_high", "verdict")
_RULE_NUMBERS = (
    "antecedents",
    "consequents",
    "support",
    "confidence",
    "confidence_low",
    "confidence_high",
    "lift",
)
"""The columns that a notebook shows."""


_ANSWERED = {"kind", "records", "items", "examined", "modelled_from", "itemsets", "rules"}
"""What a miner's answer says of what was found."""


@estimator
class FrequentItemsets(Estimator):
    """Sets of categories that many records have together (Ma 7.1.2; FRAPP 6).

    An item is a category of a variable; an itemset has at most one of each variable. There is no
    `score`, `predict` or `transform`: itemsets describe the records and predict nothing.

    Args:
        minimum_support: the least share of the records, above 0 and at most 1.
        max_length: the most items of an itemset; None for no limit.
        decisions: `point` holds an itemset frequent whose estimate reaches the minimum;
            `controlled` keeps the expected share of false ones among them at `false_discovery`.
        confidence: of intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the errors of intervals and verdicts: given these `records`, or against the
            `population` they were drawn from.
        variables: whose categories are items; None for all.
        present: the one category that is an item, of the variables that have it: say `"yes"`.
        items: the categories that are items, by variable: `{"sex": ["female"]}`.

    Attributes:
        itemsets_: the frequent ones as mlxtend has them, `support` (a share) and `itemsets`
            (frozensets of `variable=category`), then `support_se`, `support_low`, `support_high`
            (the error and the interval that `against` asks for), `se_records`, `se_population`
            (both errors), `verdict` and `p_value`.
        model_: all that was examined.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.Domain.of(
        ...     sex=["female", "male"], survived=["no", "yes"])
        >>> found = pm.FrequentItemsets(0.5).fit(people, pm.Plan.unrandomized(domain))
        >>> for support, items in zip(found.itemsets_["support"], found.itemsets_["itemsets"]):
        ...     print(round(support, 3), sorted(items))
        0.786 ['sex=male']
        0.677 ['survived=no']
        0.62 ['sex=male', 'survived=no']
    """

    kind = "association-rules"

    minimum_support: float
    _: KW_ONLY
    max_length: int | None = RuleOptions.max_length
    decisions: Decisions = RuleOptions.decisions
    confidence: float = RuleOptions.confidence
    false_discovery: float = RuleOptions.false_discovery
    against: Against = RuleOptions.against
    variables: Sequence[str] | None = None
    present: str | None = None
    items: Mapping[str, Sequence[str]] | None = None

    @property
    def itemsets_(self) -> pd.DataFrame:
        """The frequent itemsets, a row each, by length."""
        self._require_fitted()
        return itemsets_frame(self.model_.itemsets)

    def to_frame(self, *, examined: bool = False) -> pd.DataFrame:
        """Return the frequent itemsets as `itemsets_` has them.

        Args:
            examined: list all itemsets that were examined, with their verdicts.

        Raises:
            NotFitted: nothing was learned.
        """
        self._require_fitted()
        return itemsets_frame(self.model_.itemsets, examined=examined)

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        self.model_: RuleFindings = self._found(counts, on_step)

    def _found(self, counts: EstimatedCounts, on_step: Progress) -> RuleFindings:
        options = self._options_of(RuleOptions)
        items = _wanted(counts.domain, self.variables, self.present, self.items)
        return RuleFindings(mine_itemsets(counts.marginals, items, options, on_step))

    def job_options(self) -> dict[str, Any]:
        """Return what a miner is asked for: without a limit, the widest that there is there."""
        from pramana_core.wire.jobs import MAX_LENGTH

        asked = super().job_options()
        return asked | ({"max_length": MAX_LENGTH} if asked["max_length"] is None else {})

    @classmethod
    def document_of(cls, model: Any) -> dict[str, Any]:
        """Return what a miner answers of its model as `restore` takes it."""
        document = model.model_dump(mode="json", include=_ANSWERED)
        return {**document, "options": asdict(model.spec.options())}

    def _document(self) -> dict[str, Any]:
        return write_findings(self.model_.itemsets, self.model_.rules)

    def _take(self, document: Mapping[str, Any]) -> None:
        self.model_ = read_findings(document)

    def _picture(self) -> Picture:
        return itemsets_chart(self.model_.itemsets)

    def _numbers(self) -> pd.DataFrame:
        return self.itemsets_[list(_ITEMSET_NUMBERS)].sort_values(
            "support", ascending=False, ignore_index=True
        )

    def _facts(self) -> list[tuple[str, str]]:
        options = self.model_.itemsets.options
        kind = "given these records" if options.against == "records" else "against the population"
        examined = sum(len(level) for level in self.model_.itemsets.levels)
        return [
            ("found", f"{len(self.model_.itemsets.frequent):,} of {examined:,} examined"),
            ("errors", f"{100 * options.confidence:g} % intervals {kind}"),
        ]


@estimator
class AssociationRules(FrequentItemsets):
    """Rules "records with these categories often have those too" (Ma 7.1.1).

    There is no `score`, `predict` or `transform`: rules describe the records.

    Args:
        minimum_support: the least share of the records with both sides, above 0 and at most 1.
        minimum_confidence: the least confidence, from 0 to 1.
        certain: apply `minimum_confidence` to the lower end of the interval, not to the estimate.
        max_length: the most items of both sides together; None for no limit.
        decisions: how itemsets are held frequent, by `point` or `controlled`; as all that follow,
            see `FrequentItemsets`.
        confidence: of intervals and verdicts.
        false_discovery: the rate that `controlled` decisions keep.
        against: the errors, given these `records` or against their `population`.
        variables: whose categories are items; None for all.
        present: the one category that is an item, of the variables that have it.
        items: the categories that are items, by variable.

    Attributes:
        rules_: the rules as mlxtend has them, `antecedents` and `consequents` (frozensets of
            `variable=category`) and its measures, then the standard error and the interval of
            support, confidence, lift and leverage (`confidence_se`, `confidence_low`, ...), which
            are those that `against` asks for: given these records unless it says otherwise.
        itemsets_: the frequent itemsets; see `FrequentItemsets`.

    Examples:
        >>> import pramana as pm
        >>> people = pm.example("titanic")
        >>> domain = pm.Domain.of(
        ...     sex=["female", "male"], survived=["no", "yes"])
        >>> plan = pm.Plan.unrandomized(domain)
        >>> found = pm.AssociationRules(0.1, minimum_confidence=0.7).fit(people, plan)
        >>> for rule in found.rules_.itertuples():
        ...     print(*rule.antecedents, "->", *rule.consequents, round(rule.confidence, 3))
        sex=female -> survived=yes 0.732
        sex=male -> survived=no 0.788
        survived=no -> sex=male 0.915
    """

    minimum_confidence: float = MINIMUM_CONFIDENCE
    _: KW_ONLY
    certain: bool = False

    @property
    def rules_(self) -> pd.DataFrame:
        """The rules, a row each, by length."""
        self._require_fitted()
        return rules_frame(self.model_.itemsets.domain, self.model_.rules)

    def to_frame(self) -> pd.DataFrame:  # type: ignore[override]
        """Return the rules as `rules_` has them. Raises NotFitted."""
        return self.rules_

    def _learn(self, counts: EstimatedCounts, on_step: Progress) -> None:
        found = self._found(counts, on_step).itemsets
        require_limit(self.certain, bool, "certain")
        rules = derive_rules(found, counts.marginals, self.minimum_confidence, certain=self.certain)
        self.model_ = RuleFindings(found, rules)

    def _picture(self) -> Picture:
        return rules_chart(self.model_.itemsets.domain, self.model_.rules)

    def _numbers(self) -> pd.DataFrame:
        return self.rules_[list(_RULE_NUMBERS)].sort_values(
            "confidence_low", ascending=False, ignore_index=True
        )

    def _facts(self) -> list[tuple[str, str]]:
        (_, found), *errors = super()._facts()
        return [("itemsets", found), ("rules", f"{len(self.model_.rules):,}"), *errors]


def _wanted(
    domain: Domain,
    variables: Sequence[str] | None,
    present: str | None,
    items: Mapping[str, Sequence[str]] | None,
) -> tuple[Item, ...]:
    """Return the items that were asked for, in the order of the domain."""
    if sum(one is not None for one in (present, items)) > 1:
        raise OptionError(
            "items and present exclude each other: items names the categories that are items,"
            " present the one of all variables.",
            where="items",
        )
    if present is not None and not isinstance(present, str):
        raise OptionError(f"present must be a category, not {shown(present)}.", where="present")
    if items is not None:
        return chosen_items(domain, _lists(items))
    if variables is not None:
        domain = domain.project(_list(variables, "variables", "names of variables"))
    return items_wanted(domain, present, None)


def _lists(items: object) -> dict[str, list[str]]:
    if not isinstance(items, Mapping):
        raise OptionError(
            f'items must be a dict of lists of categories by variable, {{"sex": ["female"]}}, not'
            f" {shown(items)}.",
            where="items",
        )
    return {name: _list(labels, f"items[{name!r}]", "categories") for name, labels in items.items()}


def _list(given: object, argument: str, of: str) -> list[str]:
    if isinstance(given, str) or not isinstance(given, Sequence | set | frozenset):
        raise OptionError(f"{argument} must be a list of {of}, not {shown(given)}.", where=argument)
    listed = list(given)
    if len(set(map(str, listed))) < len(listed):
        raise OptionError(f"{argument} names {of} twice.", where=argument)
    return listed

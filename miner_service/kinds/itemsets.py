"""Frequent itemsets and association rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, ClassVar

from miner_service.kinds.base import Content, render
from miner_service.kinds.bounds import FEWER, Extent, require_pairs, require_table, weighs_reports
from miner_service.kinds.counts import CountsKind
from miner_service.settings import Limits
from pramana_core.domain import Domain
from pramana_core.errors import OptionError, require_at_most
from pramana_core.estimation.estimated import MARGINALS
from pramana_core.learn.common.worth import Worth
from pramana_core.learn.rules.decisions import NOT_FREQUENT
from pramana_core.learn.rules.documents import findings_csv, read_findings, write_findings
from pramana_core.learn.rules.itemsets import FoundItemsets, Itemset, Level, items_of
from pramana_core.learn.rules.mining import mine_itemsets
from pramana_core.learn.rules.rules import Rule, derive_rules
from pramana_core.learn.worth import rules_worth
from pramana_core.marginals.counts import Marginals
from pramana_core.marginals.support_counts import Flags
from pramana_core.progress import Progress, part_of
from pramana_core.ties import descending
from pramana_core.wire.jobs import AssociationRulesSpec
from pramana_core.wire.models import AssociationRulesMessage

MOST_ITEMS = 4_096
"""The maximum number of items of a job."""

MOST_LISTED = 100_000
"""The maximum number of itemsets, and of rules, of a model."""

SHOWN = 500
"""The maximum number of rows of a list on the page; the CSV has all rows."""

_MINING_STEPS, _RULE_STEPS = 80, 20
"""Percentages of a job's progress for finding itemsets, and for finding rules."""

_JOINED = " & "


def _shorten(found: FoundItemsets) -> FoundItemsets:
    levels = []
    for level in found.levels:
        kept = _is_listed(level)
        arrays: dict[str, Any] = {f.name: getattr(level, f.name) for f in fields(level)}
        shorter = {name: a[kept] for name, a in arrays.items() if a is not None}
        levels.append(replace(level, **shorter))
    return replace(found, levels=tuple(levels))


def _is_listed(level: Level) -> Flags:
    listed: Flags = level.chosen | (level.verdict != NOT_FREQUENT)
    return listed


def _word(model: AssociationRulesMessage, place: int) -> str:
    item = model.items[place]
    return f"{item.variable}={item.category}"


def _words(model: AssociationRulesMessage, items: Iterable[int]) -> str:
    return _JOINED.join(_word(model, place) for place in items)


def _page(model: AssociationRulesMessage) -> str:
    chosen = [itemset for itemset in model.itemsets if itemset.chosen]
    frequent = [chosen[at] for at in descending([i.support or 0 for i in chosen]).tolist()]
    largest = sorted(frequent, key=lambda i: -len(i.items))
    order = descending([rule.lift or 0 for rule in model.rules]).tolist()[:SHOWN]
    highest = [model.rules[at] for at in order]
    about = [sorted({model.items[at].variable for at in r.consequent}) for r in highest]
    consequents = sorted({name for names in about for name in names})
    return render(
        "itemsets.html.j2",
        model,
        held=len(chosen),
        itemsets=[(_words(model, i.items), i) for i in largest[:SHOWN]],
        rules=[
            (
                _words(model, r.antecedent),
                _words(model, r.consequent),
                r,
                [consequents.index(name) + 1 for name in names],
            )
            for r, names in zip(highest, about, strict=True)
        ],
        consequents=consequents,
    )


class AssociationRulesKind(CountsKind[AssociationRulesSpec, AssociationRulesMessage]):
    """Jobs that find frequent itemsets and association rules."""

    spec, message = AssociationRulesSpec, AssociationRulesMessage
    views: ClassVar = {
        "page": _page,
        "itemsets.csv": lambda model: findings_csv(Itemset, model.itemsets, partial(_word, model)),
        "rules.csv": lambda model: findings_csv(Rule, model.rules, partial(_word, model)),
    }
    settles_order = False

    def check(self, spec: AssociationRulesSpec) -> None:
        spec.options()
        if spec.items is not None and (spec.present is not None or spec.variables is not None):
            raise OptionError(
                "`items` cannot be given together with `variables` or `present`.",
                where="items",
                remedy="Give either `items`, or `variables` and `present`.",
            )
        for names in (spec.variables or (), *(spec.items or {}).values()):
            if len(set(names)) < len(names):
                where = "items" if spec.items else "variables"
                raise OptionError("A variable or an item is listed twice.", where=where)

    def variables(self, spec: AssociationRulesSpec, reported: Domain) -> tuple[str, ...]:
        if spec.items is not None:
            return tuple(spec.items)
        names = tuple(spec.variables or reported.names)
        if spec.present is None or not set(names) <= set(reported.names):
            return names
        # The other variables need no counts.
        items = items_of(reported.project(names), spec.present)
        return tuple(name for name, _ in items)

    def require_affordable(
        self, spec: AssociationRulesSpec, extent: Extent, limits: Limits
    ) -> None:
        """Check the variables, the items and, if itemsets need tables, the largest table."""
        variables, layout, _records = extent
        items = items_of(layout.domain.project(variables), spec.present, spec.items)
        require_at_most(
            len(variables), limits.search_variables, "variables of the job", "variables", FEWER
        )
        require_at_most(len(items), MOST_ITEMS, "items of the job", "items", FEWER)
        if MARGINALS[spec.estimator or "moment"].makes_of_pairs(spec.order):
            require_pairs(variables, layout, where="variables")
            return
        # Estimators on reports leave longer itemsets with too large tables undecided.
        longest = spec.options().max_length
        longest = min(longest, 2) if weighs_reports(spec) else longest
        family = layout.largest(variables, longest)
        require_table(spec, family, layout, limits, where="max_length")

    def worth(
        self, spec: AssociationRulesSpec, marginals: Marginals, content: Content
    ) -> Worth | None:
        rules = read_findings(
            {
                "kind": self.makes,
                "records": marginals.records,
                "options": asdict(spec.options()),
                **content,
            }
        ).rules
        return rules_worth(spec.options(), rules, spec.minimum_confidence)

    def learn(self, spec: AssociationRulesSpec, marginals: Marginals, on_step: Progress) -> Content:
        found = mine_itemsets(
            marginals,
            items_of(marginals.domain, spec.present, spec.items),
            spec.options(),
            part_of(on_step, 0, _MINING_STEPS),
        )
        require_at_most(
            sum(int(_is_listed(level).sum()) for level in found.levels),
            MOST_LISTED,
            "itemsets of the model",
            "minimum_support",
            "Raise the minimum support, or choose fewer items.",
        )
        rules = derive_rules(
            found,
            marginals,
            spec.minimum_confidence,
            certain=spec.certain,
            most=MOST_LISTED,
            on_step=part_of(on_step, _MINING_STEPS, _RULE_STEPS),
        )
        document = write_findings(_shorten(found), rules)
        return {
            "items": document["items"],
            "examined": sum(map(len, found.levels)),
            "modelled_from": found.modelled_from,
            "itemsets": document["itemsets"],
            "rules": document["rules"],
        }

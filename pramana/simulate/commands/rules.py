"""`pramana simulate rules`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pramana.simulate.commands import options as given
from pramana_core.learn.rules.options import Decisions, RuleOptions

_rules = partial(given.learner, RuleOptions)
MinSupport = Annotated[
    float, _rules("minimum_support", "The least share of the records of a frequent itemset")
]
MaxLength = Annotated[int | None, _rules("max_length", "Most items of an itemset")]
DecisionsOption = Annotated[
    Decisions,
    _rules("decisions", "point: the estimate decides; controlled: few discoveries are false"),
]
FalseDiscovery = Annotated[
    float, _rules("false_discovery", "The share of false discoveries allowed, of controlled")
]


@given.with_setup
def rules(
    setup: given.Setup,
    min_support: MinSupport = 0.05,
    max_length: MaxLength = RuleOptions.max_length,
    decisions: DecisionsOption = RuleOptions.decisions,
    false_discovery: FalseDiscovery = RuleOptions.false_discovery,
    runs: given.Runs = 10,
    seed: given.Seed = 1,
    json: given.Json = False,
    out: given.Out = None,
) -> None:
    """Measure the errors of frequent itemsets mined from randomized records.

    An itemset is a set of categories of different variables. Those found are compared with the
    frequent itemsets of the same records before randomization, by length. Exit codes: 0 done; 2 bad
    input; 4 too large; 6 the reports cannot support the estimate.
    """
    from pramana.simulate.commands.display import show_rules
    from pramana.simulate.designs import for_itemsets
    from pramana.simulate.rules import simulate
    from pramana.simulate.study import require_place

    require_place(out)
    with given.options_as_typed():
        mining = RuleOptions(min_support, max_length, decisions, false_discovery=false_discovery)
    with given.watched(f"{runs} runs") as watch:
        trials, chosen = setup.prepare(
            lambda domain: for_itemsets(domain, min_support, max_length), runs, seed, on_step=watch
        )
        outcome = simulate(trials, mining, chosen, watch)
    given.tell(outcome, given.Answer(json, out), show_rules)

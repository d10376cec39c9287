"""Measure the main job's steps beside what a user would otherwise do, and record the ratios."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import pandas as pd

from benchmarks.measuring import Measured, compare, record
from benchmarks.startup import starting
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.design.families import independent, sampled
from pramana_core.design.requirement import Requirements
from pramana_core.discretize import mgas
from pramana_core.domain import Domain
from pramana_core.estimation.core.likelihood import Maximum, climb, maximize, start
from pramana_core.estimation.core.loglinear import FactoredModel
from pramana_core.estimation.core.strata import Stratum
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.learn.networks.network import BayesNet
from pramana_core.learn.networks.search.scores import PlainJudge
from pramana_core.learn.networks.search.structure_learning import learn_structure
from pramana_core.learn.networks.structure import Scoring, Search, Structure
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.learn.rules.mining import FoundItemsets, mine_itemsets
from pramana_core.learn.rules.options import RuleOptions
from pramana_core.learn.tree.growth import TreeOptions, learn_tree
from pramana_core.marginals.counts import Codes, ReportedCounts
from pramana_core.plan import Block, Plan
from pramana_core.terminal import console

RECORDS = 1_000_000
SECRETS = Secrets(sha256(b"a benchmark's draw key").digest(), sha256(b"its linkage").digest())


def randomizing() -> Measured:
    """Randomize one column of five categories: keyed and repeatable, or numpy's generator."""
    rng = np.random.default_rng(1)
    channel = Symmetric.from_gamma(5, 9.0)
    block = Block(Domain.of(v="abcde").variables, channel)
    plan = Plan((block,))
    keys = np.frombuffer(rng.bytes(16 * RECORDS), dtype="V16")
    codes = rng.integers(0, 5, RECORDS).astype(np.uint8)

    def unkeyed() -> np.ndarray:
        keep = rng.random(RECORDS) < channel.keep_units / 2**32
        other = (codes + rng.integers(1, 5, RECORDS)) % 5
        return np.where(keep, codes, other)

    return compare(
        "randomize a 5-category column of 10^6 records by keyed draws",
        lambda: _reported(plan, keys, {"v": codes}),
        "numpy's generator, different at every run",
        unkeyed,
    )


def pseudonymizing() -> Measured:
    """Make pseudonyms: the standard library's HMAC, one call a record."""
    import hmac

    secrets = SECRETS
    ids = [f"P{i:07d}" for i in range(RECORDS // 5)]
    return compare(
        "pseudonyms of 200,000 records",
        lambda: pseudonyms(secrets, "study", ids),
        "hmac.digest, one call a record",
        lambda: [hmac.digest(secrets.linkage, i.encode(), "sha256")[:16] for i in ids],
    )


def estimating() -> Measured:
    """Count five columns of five categories, invert, and give both standard errors."""
    rng = np.random.default_rng(2)
    domain = Domain.of(**{f"v{i}": "abcde" for i in range(5)})
    plan = Plan(tuple(Block((v,), Symmetric.from_gamma(5, 9.0)) for v in domain))
    columns = {v.name: rng.integers(0, 5, RECORDS).astype(np.uint8) for v in domain}
    frame = pd.DataFrame(columns)

    def ours() -> object:
        marginals = EstimatedMarginals(ReportedCounts(columns, plan.reported_sizes), plan)
        table = marginals.marginal(domain.names)
        return table.counts, table.standard_error(population=True)

    return compare(
        "count, invert and give errors of 3,125 cells from 10^6 records",
        ours,
        "pandas groupby count of the same cells, nothing inverted",
        lambda: frame.groupby(list(domain.names), observed=False).size(),
    )


CENSUS = Domain.of(a="1234", b="12345", c="12345", d="12345", e="12", f="12")
"""The sizes of FRAPP's CENSUS table: 2,000 cells."""


def sampling_pairs() -> Measured:
    """Report one random pair of six variables, keyed; beside all six columns one by one."""
    rng = np.random.default_rng(3)
    keys = np.frombuffer(rng.bytes(16 * RECORDS), dtype="V16")
    columns = {v.name: rng.integers(0, v.size, RECORDS).astype(np.uint8) for v in CENSUS}
    pairs = sampled(list(itertools.combinations(CENSUS.names, 2)))
    one_by_one = Requirements(CENSUS, dict.fromkeys(CENSUS.names, 19.0), 19.0)

    plans = pairs(one_by_one), independent(one_by_one)
    return compare(
        "randomize 10^6 records of six columns, each record by one random pair",
        lambda: _reported(plans[0], keys, columns),
        "all six columns by channels of their own",
        lambda: _reported(plans[1], keys, columns),
    )


def maximizing() -> Measured:
    """Maximum likelihood of eight binary variables at p = 0.4, where EM crawls."""
    strata = [_binary_reports(8, 100_000)]
    return compare(
        "maximum likelihood of 256 cells at p = 0.4, to the same certificate",
        lambda: maximize(strata),
        "accelerated EM alone",
        lambda: _by_em_alone(strata),
        rounds=3,
    )


def maximizing_many_cells() -> Measured:
    """Of fourteen binary variables; EM alone is given a quarter of the cells."""
    small, large = [_binary_reports(12, 50_000)], [_binary_reports(14, 50_000)]
    found: dict[str, Maximum] = {}
    measured = compare(
        "maximum likelihood of 16,384 cells at p = 0.4 from 50,000 records, certified to 1e-4 nats,"
        " processor time",
        lambda: found.update(newton=maximize(large)),
        "accelerated EM alone on 4,096 cells, to the same certificate",
        lambda: found.update(em=_by_em_alone(small)),
        rounds=1,
        clock=time.process_time,
    )
    for way, reached in found.items():
        console().print(f"{way}: within {reached.gap:.2g} nats after {reached.steps} steps")
    return measured


def _binary_reports(variables: int, records: int) -> Stratum:
    """Draw reports at p = 0.4 of a distribution with many rare cells."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(2**variables, 0.3)).reshape((2,) * variables)
    channels = (Symmetric.from_probability(2, 0.4),) * variables
    law = Stratum(theta, channels).expected(theta[..., None])[:, 0]
    reports = rng.multinomial(records, law / law.sum()).reshape(theta.shape)
    return Stratum(reports.astype(float), channels)


def _by_em_alone(strata: Sequence[Stratum]) -> Maximum:
    model, begin = FactoredModel(strata[0].shape), start(strata)[0]
    return climb(strata, model, begin, tolerance=1e-4, steps=100_000)


def discretizing() -> Measured:
    """MGAS of 10^6 distinct values, in no particular order."""
    values = np.random.default_rng(4).normal(50.0, 10.0, RECORDS)
    return compare(
        "MGAS of 10^6 values to groups of at least 1,000, on a grid of 1/64 of the granularity",
        lambda: mgas(values, minimum_count=1000, granularity=0.25),
        "pandas.qcut in 200 groups, which promises no width",
        lambda: pd.qcut(values, 200),
    )


def learning_structure() -> Measured:
    """A network of 20 four-valued variables: ours from randomized records, K2 from clean ones."""
    import pyagrum

    network, order = _random_network(20, 4, np.random.default_rng(6))
    clean = network.sample(RECORDS, np.random.default_rng(7))
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(4, 0.1)) for v in network.domain))
    keys = np.frombuffer(np.random.default_rng(8).bytes(16 * RECORDS), dtype="V16")
    reported = _reported(plan, keys, clean)
    frame = pd.DataFrame({name: column.astype(str) for name, column in clean.items()})

    def ours() -> object:
        counts = ReportedCounts(reported, plan.reported_sizes)
        return learn_structure(EstimatedMarginals(counts, plan), search=Search(order), draws=0)

    def theirs() -> object:
        learner = pyagrum.BNLearner(frame)
        learner.useK2([frame.columns.get_loc(name) for name in order])
        learner.setMaxIndegree(3)
        return learner.learnDAG()

    return compare(
        "structure of 20 four-valued variables from 10^6 randomized records, order given",
        ours,
        "pyAgrum's K2 on the clean records, read from a data frame",
        theirs,
        rounds=2,
    )


def searching_without_order() -> Measured:
    """Twelve variables that nearly determine each other, clean: ours and a kept library's GES."""
    from pgmpy.causal_discovery import GES
    from pgmpy.structure_score import BIC

    network, _ = _random_network(12, 3, np.random.default_rng(9), concentration=0.1)
    clean = network.sample(10_000, np.random.default_rng(10))
    plan = Plan.unrandomized(network.domain)
    frame = pd.DataFrame({name: column.astype(str) for name, column in clean.items()})
    score = PlainJudge(
        EstimatedMarginals(ReportedCounts(clean, plan.reported_sizes), plan), Scoring("bic")
    ).score

    class Kept(BIC):
        """Their score, counted by us once for each family."""

        def local_score(self, variable: str, parents: tuple[str, ...]) -> float:
            return score(variable, frozenset(parents))

    def ours() -> dict[str, frozenset[str]]:
        counts = ReportedCounts(clean, plan.reported_sizes)
        found = learn_structure(EstimatedMarginals(counts, plan), search=Search(tabu=0), draws=0)
        return {name: frozenset(given) for name, given in found.structure.parents.items()}

    def theirs() -> dict[str, frozenset[str]]:
        graph = GES(scoring_method=Kept(frame), return_type="dag").fit(frame).causal_graph_
        return {name: frozenset(graph.predecessors(name)) for name in clean}

    totals = [sum(score(*family) for family in found().items()) for found in (ours, theirs)]
    return compare(
        "structure of 12 variables from 10^4 clean records, no order given",
        ours,
        f"pgmpy's GES, its total BIC {totals[0] - totals[1]:.1f} nats below ours",
        theirs,
        rounds=1,
    )


SURVEY_SIZES = (4, 3, 3, 3, 2, 3, 2, 3, 2, 3, 2)
"""Eleven variables with thirty categories, as Ma 7.1.4 takes from the Adult table."""


def mining_itemsets() -> Measured:
    """Frequent itemsets: ours with errors from randomized records, fpgrowth's from clean ones."""
    import fim

    domain, clean, reported, plan = _survey()
    first = np.cumsum([0, *SURVEY_SIZES[:-1]])
    codes = [clean[v.name].astype(np.int64) + first[i] for i, v in enumerate(domain)]
    transactions = np.stack(codes, axis=1).tolist()
    options = RuleOptions(minimum_support=0.05)

    def ours() -> FoundItemsets:
        counts = ReportedCounts(reported, plan.reported_sizes)
        return mine_itemsets(EstimatedMarginals(counts, plan), all_items(domain), options)

    def theirs() -> list[object]:
        found: list[object] = fim.fpgrowth(transactions, supp=5.0, zmin=1, report="a")
        return found

    console().print(
        f"itemsets of support 5 %: {len(theirs())} in the clean records,"
        f" {len(ours().frequent)} by estimate from the randomized ones"
    )
    return compare(
        "itemsets with errors, support 5 %, 30 items in 11 variables, 10^6 randomized records",
        ours,
        "pyfim's fpgrowth on the clean transactions",
        theirs,
        rounds=3,
    )


def growing_tree() -> Measured:
    """A decision tree: ours from randomized records, scikit-learn's from clean one-hot ones."""
    return _tree("stopped within noise", TreeOptions())


def growing_whole_tree() -> Measured:
    """The same grown until nothing is left to split, as scikit-learn's is."""
    return _tree(
        "fully grown, not pruned",
        TreeOptions(significance=None, least_records=0, prune=False, shrinkage=None),
    )


def _tree(how: str, options: TreeOptions) -> Measured:
    from sklearn.tree import DecisionTreeClassifier

    domain, clean, reported, plan = _survey()
    *attributes, target = domain.names
    one_hot = pd.get_dummies(pd.DataFrame({a: clean[a].astype(str) for a in attributes}))
    table = one_hot.to_numpy(dtype=np.float32)

    def ours() -> object:
        counts = ReportedCounts(reported, plan.reported_sizes)
        return learn_tree(EstimatedMarginals(counts, plan), target, None, options)

    def theirs() -> object:
        return DecisionTreeClassifier(criterion="entropy", random_state=0).fit(table, clean[target])

    return compare(
        f"decision tree of 11 variables from 10^6 randomized records, {how}",
        ours,
        "scikit-learn's entropy tree on the clean records, one-hot",
        theirs,
        rounds=2,
    )


def _survey() -> tuple[Domain, dict[str, Codes], dict[str, Codes], Plan]:
    """Draw records of three kinds of people, and randomize each column by keyed draws, p = 0.3."""
    rng = np.random.default_rng(1)
    domain = Domain.of(**{f"v{i}": [str(k) for k in range(s)] for i, s in enumerate(SURVEY_SIZES)})
    kind = rng.integers(0, 3, RECORDS)
    clean: dict[str, Codes] = {}
    for variable in domain:
        chances = rng.dirichlet(np.full(variable.size, 0.8), size=3)
        chances = 0.75 * chances + 0.25 * np.eye(variable.size)[0]
        drawn = (rng.random(RECORDS)[:, None] > chances.cumsum(axis=1)[kind]).sum(axis=1)
        clean[variable.name] = np.minimum(drawn, variable.size - 1).astype(np.uint8)
    plan = Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 0.3)) for v in domain))
    keys = np.frombuffer(np.random.default_rng(8).bytes(16 * RECORDS), dtype="V16")
    return domain, clean, _reported(plan, keys, clean), plan


def _reported(plan: Plan, keys: np.ndarray, clean: dict[str, Codes]) -> dict[str, Codes]:
    return Randomizer(plan, SECRETS, "study", threads=1).reports(keys, clean)


def _random_network(
    size: int, categories: int, rng: np.random.Generator, concentration: float = 0.7
) -> tuple[BayesNet, tuple[str, ...]]:
    names = [f"v{i}" for i in range(size)]
    parents = {
        name: [names[j] for j in sorted(rng.choice(i, min(i, int(rng.integers(4))), replace=False))]
        for i, name in enumerate(names)
    }
    tables = {
        name: rng.dirichlet(np.full(categories, concentration), size=(categories,) * len(given))
        for name, given in parents.items()
    }
    domain = Domain.of(**{name: [str(k) for k in range(categories)] for name in names})
    return BayesNet(domain, Structure.of(parents), tables), tuple(names)


def main() -> None:
    """Run all comparisons, print them, and write results.json."""
    record(
        [
            randomizing(),
            pseudonymizing(),
            estimating(),
            sampling_pairs(),
            maximizing(),
            maximizing_many_cells(),
            discretizing(),
            learning_structure(),
            searching_without_order(),
            mining_itemsets(),
            growing_tree(),
            growing_whole_tree(),
            *starting(),
        ]
    )


if __name__ == "__main__":
    main()

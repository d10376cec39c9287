"""Mistakes with estimated counts and Bayesian networks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx

import pramana as pm
from pramana.exchange import load
from pramana_core.errors import (
    DomainError,
    EmptyTable,
    EstimationError,
    InputError,
    MissingColumn,
    NotFitted,
    OptionError,
    PlanError,
    RecordsDoNotAlign,
    StructureError,
    TableError,
    UnknownCategory,
    UnknownVariable,
)
from tests.pramana.face.mistakes import Mistakes

DOMAIN = pm.Domain.of(sex=["female", "male"], admitted=["no", "yes"])
PLAN = pm.Plan.unrandomized(DOMAIN)
OTHER = pm.Plan.unrandomized(pm.Domain.of(age=["young", "old"]))
FRAME = {"sex": ["female", "male", "male"], "admitted": ["no", "no", "yes"]}


def counts() -> pm.EstimatedCounts:
    return pm.estimate(FRAME, PLAN)


def net() -> pm.BayesNet:
    return pm.BayesNet([("sex", "admitted")]).fit(FRAME, PLAN)


MISTAKES: Mistakes = {
    TableError: {
        "plan and frame swapped in estimate": (
            lambda: pm.estimate(PLAN, FRAME),
            "reports … not a Plan … pm.estimate(frame, plan)",
        ),
        "a list of plans and frames swapped": (
            lambda: pm.estimate([(PLAN, FRAME)]),
            "reports[0] … plan first",
        ),
        "a list of frames without plans": (
            lambda: pm.estimate([pm.example("berkeley")]),
            "reports[0] … (frame, plan) … DataFrame",
        ),
        "a path for reports": (
            lambda: pm.estimate("reports.csv", PLAN),
            "reports … 'reports.csv' … a frame with its plan",
        ),
    },
    PlanError: {
        "a frame to estimate without its plan": (
            lambda: pm.estimate(FRAME),
            "reports is a dict … without a plan … pm.Plan.unrandomized(domain)",
        ),
        "reports with another plan": (
            lambda: pm.estimate(pm.Reports.from_frame(FRAME, PLAN), OTHER),
            "plan is another … leave it out",
        ),
        "a domain for a plan in estimate": (
            lambda: pm.estimate(FRAME, DOMAIN),
            "plan must be a Plan … Domain",
        ),
    },
    EmptyTable: {
        "an empty list to estimate": (
            lambda: pm.estimate([]),
            "reports is an empty list … (frame, plan)",
        )
    },
    MissingColumn: {
        "a plan of another domain in estimate": (
            lambda: pm.estimate(FRAME, OTHER),
            "'age' … 'sex'",
        ),
        "a prediction from other columns": (
            lambda: net().predict({"Sex": ["male"]}, "admitted"),
            "frame … 'sex' … 'Sex'",
        ),
    },
    UnknownCategory: {
        "a plan of other categories in estimate": (
            lambda: pm.estimate(FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["f", "m"]))),
            "'sex' … 'female' … 'f'",
        ),
        "a query given a category that there is not": (
            lambda: net().query("admitted", given={"sex": "m"}),
            "'sex' … 'm' … 'male'",
        ),
    },
    DomainError: {
        "sources that list categories in another order": (
            lambda: pm.estimate(
                [
                    (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["female", "male"]))),
                    (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["male", "female"]))),
                ]
            ),
            "'sex' … categories",
        )
    },
    RecordsDoNotAlign: {
        "columns of the same people as a list of sources": (
            lambda: pm.estimate(
                [
                    pm.randomize(
                        {**FRAME, "id": [1, 2, 3]},
                        pm.plan(DOMAIN.project([name]), p=0.1),
                        pm.Keys.for_experiments(1),
                        record_id="id",
                    )
                    for name in ("sex", "admitted")
                ]
            ),
            "reports[0] … the same 3 people … pm.join",
        )
    },
    OptionError: {
        "an estimator that there is not": (
            lambda: pm.estimate(FRAME, PLAN, estimator="em"),
            "estimator … ml … 'em'",
        ),
        "order given as a name": (
            lambda: pm.estimate(FRAME, PLAN, estimator="pooled", order="sex"),
            "order … whole number … 'sex'",
        ),
        "a table of no variables": (lambda: counts().table([]), "variables … empty"),
        "a level in percent": (lambda: counts().table("sex", level=95), "level … below 1 … 95"),
        "independence of a variable from itself": (
            lambda: counts().independence("sex", "sex"),
            "left … right … 'sex'",
        ),
        "one name for a network's variables": (
            lambda: pm.BayesNet(variables="sex").fit(FRAME, PLAN),
            "variables … list … 'sex'",
        ),
        "search options beside a given structure": (
            lambda: pm.BayesNet([("sex", "admitted")], max_parents=2).fit(FRAME, PLAN),
            "max_parents … given structure",
        ),
        "a score by pgmpy's name": (
            lambda: pm.BayesNet(scoring="bic-d").fit(FRAME, PLAN),
            "score … bic-d …  bic,",
        ),
        "an order of some variables": (
            lambda: pm.BayesNet(order=["sex"]).fit(FRAME, PLAN),
            "order … admitted",
        ),
        "a query given text": (
            lambda: net().query("admitted", given="sex=male"),
            "given … dict … 'sex=male'",
        ),
        "a query of what is given": (
            lambda: net().query("sex", given={"sex": "male"}),
            "of … 'sex' … given",
        ),
        "a prediction from a frame that has every node": (
            lambda: net().predict(FRAME),
            "target … sex, admitted",
        ),
        "half a record sampled": (lambda: net().sample(0.5), "n must be … 0.5"),
        "no records sampled": (lambda: net().sample(0), "n must be at least 1 … 0"),
    },
    UnknownVariable: {
        "a table of a variable that there is not": (
            lambda: counts().table(["sex", "age"]),
            "'age' … 'sex', 'admitted'",
        ),
        "a table of a withheld variable": (
            lambda: pm.estimate(FRAME, pm.plan(DOMAIN, p=0.1, withheld=["admitted"])).table(
                "admitted"
            ),
            "'admitted' … 'sex'",
        ),
        "a structure of other variables": (
            lambda: pm.BayesNet([("age", "admitted")]).fit(FRAME, PLAN),
            "structure … 'age' … sex, admitted",
        ),
        "a query of no node": (lambda: net().query("age"), "of … 'age' … sex, admitted"),
        "a prediction of no node": (lambda: net().predict(FRAME, "age"), "target … 'age'"),
    },
    EstimationError: {
        "a table by moments of what one source lacks": (
            lambda: pm.estimate(
                [(FRAME, PLAN), ({"age": ["old"]}, OTHER)], estimator="moment"
            ).table("age"),
            "'age' … 'ml'",
        )
    },
    StructureError: {
        "a structure in words": (
            lambda: pm.BayesNet("sex -> admitted").fit(FRAME, PLAN),
            "structure … 'sex -> admitted' … (parent, child)",
        ),
        "a parent that is no list": (
            lambda: pm.BayesNet({"admitted": "sex"}).fit(FRAME, PLAN),
            "'admitted' … ['sex']",
        ),
        "a structure with a cycle": (
            lambda: pm.BayesNet([("sex", "admitted"), ("admitted", "sex")]).fit(FRAME, PLAN),
            "cycle … sex … admitted",
        ),
        "an undirected graph for a structure": (
            lambda: pm.BayesNet(nx.Graph([("sex", "admitted")])).fit(FRAME, PLAN),
            "structure … directed … Graph",
        ),
    },
    NotFitted: {
        "a network asked before it is fitted": (
            lambda: pm.BayesNet([("sex", "admitted")]).query("admitted"),
            "BayesNet … fit",
        )
    },
    InputError: {
        "a BIF file that is not there": (
            lambda: pm.BayesNet.from_bif("asia.bif"),
            "source … 'asia.bif' … No such file",
        ),
        "a text that is no BIF": (lambda: pm.BayesNet.from_bif("digraph {\n a -> b\n}"), "BIF"),
        "a BIF file written to a folder": (
            lambda: net().to_bif(Path(tempfile.gettempdir())),
            "path … cannot be written",
        ),
        "a pgmpy model without parameters": (
            lambda: pm.BayesNet.from_pgmpy(
                load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork([("a", "b")])
            ),
            "model … 'a' … no table",
        ),
    },
}

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
    TableError: [
        (lambda: pm.estimate(PLAN, FRAME), "reports"),
        (lambda: pm.estimate([(PLAN, FRAME)]), "reports"),
        (lambda: pm.estimate([pm.example("berkeley")]), "reports"),
        (lambda: pm.estimate("reports.csv", PLAN), "reports"),
    ],
    PlanError: [
        (lambda: pm.estimate(FRAME), "plan"),
        (lambda: pm.estimate(pm.Reports.from_frame(FRAME, PLAN), OTHER), "plan"),
        (lambda: pm.estimate(FRAME, DOMAIN), "plan"),
    ],
    EmptyTable: [
        (lambda: pm.estimate([]), "reports"),
    ],
    MissingColumn: [
        (lambda: pm.estimate(FRAME, OTHER), "frame"),
        (lambda: net().predict({"Sex": ["male"]}, "admitted"), "frame"),
    ],
    UnknownCategory: [
        (lambda: pm.estimate(FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["f", "m"]))), "sex"),
        (lambda: net().query("admitted", given={"sex": "m"}), "sex"),
    ],
    DomainError: [
        (
            lambda: pm.estimate(
                [
                    (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["female", "male"]))),
                    (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["male", "female"]))),
                ]
            ),
            "sex",
        ),
    ],
    RecordsDoNotAlign: [
        (
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
            "reports",
        ),
    ],
    OptionError: [
        (lambda: pm.estimate(FRAME, PLAN, estimator="em"), "estimator"),
        (lambda: pm.estimate([(FRAME, PLAN), (FRAME, PLAN)], estimator="log-linear"), "estimator"),
        (lambda: pm.estimate(FRAME, PLAN, estimator="pooled", order="sex"), "order"),
        (lambda: counts().table([]), "variables"),
        (lambda: counts().table("sex", level=95), "level"),
        (lambda: counts().independence("sex", "sex"), "given"),
        (lambda: pm.BayesNet(variables="sex").fit(FRAME, PLAN), "variables"),
        (lambda: pm.BayesNet([("sex", "admitted")], max_parents=2).fit(FRAME, PLAN), "max_parents"),
        (lambda: pm.BayesNet(scoring="bic-d").fit(FRAME, PLAN), "score"),
        (lambda: pm.BayesNet(order=["sex"]).fit(FRAME, PLAN), "order"),
        (lambda: net().query("admitted", given="sex=male"), "given"),
        (lambda: net().query("sex", given={"sex": "male"}), "of"),
        (lambda: net().predict(FRAME), "target"),
        (lambda: net().sample(0.5), "n"),
        (lambda: net().sample(0), "n"),
    ],
    UnknownVariable: [
        (lambda: counts().table(["sex", "age"]), "age"),
        (
            lambda: pm.estimate(FRAME, pm.plan(DOMAIN, p=0.1, withheld=["admitted"])).table(
                "admitted"
            ),
            "admitted",
        ),
        (lambda: pm.BayesNet([("age", "admitted")]).fit(FRAME, PLAN), "structure"),
        (lambda: net().query("age"), "of"),
        (lambda: net().predict(FRAME, "age"), "target"),
    ],
    EstimationError: [
        (
            lambda: pm.estimate(
                [(FRAME, PLAN), ({"age": ["old"]}, OTHER)], estimator="moment"
            ).table("age"),
            "age",
        ),
    ],
    StructureError: [
        (lambda: pm.BayesNet("sex -> admitted").fit(FRAME, PLAN), "structure"),
        (lambda: pm.BayesNet({"admitted": "sex"}).fit(FRAME, PLAN), "structure"),
        (lambda: pm.BayesNet([("sex", "admitted"), ("admitted", "sex")]).fit(FRAME, PLAN), "sex"),
        (lambda: pm.BayesNet(nx.Graph([("sex", "admitted")])).fit(FRAME, PLAN), "structure"),
    ],
    NotFitted: [
        (lambda: pm.BayesNet([("sex", "admitted")]).query("admitted"), "BayesNet"),
    ],
    InputError: [
        (lambda: pm.BayesNet.from_bif("asia.bif"), "source"),
        (lambda: pm.BayesNet.from_bif("digraph {\n a -> b\n}"), "BIF"),
        (lambda: net().to_bif(Path(tempfile.gettempdir())), "path"),
        (
            lambda: pm.BayesNet.from_pgmpy(
                load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork([("a", "b")])
            ),
            "model",
        ),
    ],
}

"""Mistakes with estimated counts and Bayesian networks."""

from __future__ import annotations

import tempfile
from pathlib import Path

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
    (TableError, "reports"): [
        lambda: pm.estimate(PLAN, FRAME),
        lambda: pm.estimate([(PLAN, FRAME)]),
    ],
    (PlanError, "plan"): [lambda: pm.estimate(FRAME)],
    (EmptyTable, "reports"): [lambda: pm.estimate([])],
    (MissingColumn, "frame"): [lambda: pm.estimate(FRAME, OTHER)],
    (UnknownCategory, "sex"): [
        lambda: pm.estimate(FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["f", "m"]))),
    ],
    (DomainError, "sex"): [
        lambda: pm.estimate(
            [
                (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["female", "male"]))),
                (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["male", "female"]))),
            ]
        )
    ],
    (RecordsDoNotAlign, "reports"): [
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
        )
    ],
    (OptionError, "estimator"): [lambda: pm.estimate(FRAME, PLAN, estimator="em")],
    (OptionError, "order"): [lambda: pm.estimate(FRAME, PLAN, estimator="pooled", order="sex")],
    (OptionError, "variables"): [lambda: counts().table([])],
    (OptionError, "level"): [lambda: counts().table("sex", level=95)],
    (OptionError, "given"): [lambda: counts().independence("sex", "sex")],
    (OptionError, "max_parents"): [
        lambda: pm.BayesNet([("sex", "admitted")], max_parents=2).fit(FRAME, PLAN)
    ],
    (OptionError, "scoring"): [
        lambda: pm.BayesNet(scoring={"name": "bdeu", "ess": 5}).fit(FRAME, PLAN),
    ],
    (OptionError, "score"): [lambda: pm.BayesNet(scoring="bic-d").fit(FRAME, PLAN)],
    (OptionError, "of"): [lambda: net().query("sex", given={"sex": "male"})],
    (OptionError, "target"): [lambda: net().predict(FRAME)],
    (OptionError, "n"): [lambda: net().sample(0.5)],
    (UnknownVariable, "age"): [lambda: counts().table(["sex", "age"])],
    (UnknownVariable, "admitted"): [
        lambda: pm.estimate(FRAME, pm.plan(DOMAIN, p=0.1, withheld=["admitted"])).table("admitted")
    ],
    (UnknownVariable, "structure"): [lambda: pm.BayesNet([("age", "admitted")]).fit(FRAME, PLAN)],
    (UnknownVariable, "of"): [lambda: net().query("age")],
    (UnknownVariable, "target"): [lambda: net().predict(FRAME, "age")],
    (EstimationError, "age"): [
        lambda: pm.estimate([(FRAME, PLAN), ({"age": ["old"]}, OTHER)], estimator="moment").table(
            "age"
        )
    ],
    (StructureError, "structure"): [lambda: pm.BayesNet("sex -> admitted").fit(FRAME, PLAN)],
    (StructureError, "sex"): [
        lambda: pm.BayesNet([("sex", "admitted"), ("admitted", "sex")]).fit(FRAME, PLAN)
    ],
    (NotFitted, "BayesNet"): [lambda: pm.BayesNet([("sex", "admitted")]).query("admitted")],
    (InputError, "source"): [lambda: pm.BayesNet.from_bif("asia.bif")],
    (InputError, None): [lambda: pm.BayesNet.from_bif("digraph {\n a -> b\n}")],
    (InputError, "path"): [lambda: net().to_bif(Path(tempfile.gettempdir()))],
    (InputError, "model"): [
        lambda: pm.BayesNet.from_pgmpy(
            load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork([("a", "b")])
        )
    ],
}

"""Mistakes with estimated counts and Bayesian networks."""

from __future__ import annotations

import tempfile
from pathlib import Path

import networkx as nx

import pramana as pm
from pramana.exchange.libraries import load
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
from tests.pramana.face.mistakes import Mistake

DOMAIN = pm.Domain.of(sex=["female", "male"], admitted=["no", "yes"])
PLAN = pm.Plan.unrandomized(DOMAIN)
OTHER = pm.Plan.unrandomized(pm.Domain.of(age=["young", "old"]))
FRAME = {"sex": ["female", "male", "male"], "admitted": ["no", "no", "yes"]}


def counts() -> pm.EstimatedCounts:
    return pm.estimate(FRAME, PLAN)


def net() -> pm.BayesNet:
    return pm.BayesNet([("sex", "admitted")]).fit(FRAME, PLAN)


MISTAKES = [
    Mistake(
        "plan and frame swapped in estimate",
        lambda: pm.estimate(PLAN, FRAME),
        TableError,
        ("reports", "not a Plan", "pm.estimate(frame, plan)"),
    ),
    Mistake(
        "a frame to estimate without its plan",
        lambda: pm.estimate(FRAME),
        PlanError,
        ("reports is a dict", "without a plan", "pm.Plan.unrandomized(domain)"),
    ),
    Mistake(
        "an empty list to estimate",
        lambda: pm.estimate([]),
        EmptyTable,
        ("reports is an empty list", "(frame, plan)"),
    ),
    Mistake(
        "a list of plans and frames swapped",
        lambda: pm.estimate([(PLAN, FRAME)]),
        TableError,
        ("reports[0]", "plan first"),
    ),
    Mistake(
        "a list of frames without plans",
        lambda: pm.estimate([pm.example("berkeley")]),
        TableError,
        ("reports[0]", "(frame, plan)", "DataFrame"),
    ),
    Mistake(
        "a plan of another domain in estimate",
        lambda: pm.estimate(FRAME, OTHER),
        MissingColumn,
        ("'age'", "'sex'"),
    ),
    Mistake(
        "a plan of other categories in estimate",
        lambda: pm.estimate(FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["f", "m"]))),
        UnknownCategory,
        ("'sex'", "'female'", "'f'"),
    ),
    Mistake(
        "reports with another plan",
        lambda: pm.estimate(pm.Reports.from_frame(FRAME, PLAN), OTHER),
        PlanError,
        ("plan is another", "leave it out"),
    ),
    Mistake(
        "a domain for a plan in estimate",
        lambda: pm.estimate(FRAME, DOMAIN),
        PlanError,
        ("plan must be a Plan", "Domain"),
    ),
    Mistake(
        "a path for reports",
        lambda: pm.estimate("reports.csv", PLAN),
        TableError,
        ("reports", "'reports.csv'", "a frame with its plan"),
    ),
    Mistake(
        "sources that list categories in another order",
        lambda: pm.estimate(
            [
                (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["female", "male"]))),
                (FRAME, pm.Plan.unrandomized(pm.Domain.of(sex=["male", "female"]))),
            ]
        ),
        DomainError,
        ("'sex'", "categories"),
    ),
    Mistake(
        "columns of the same people as a list of sources",
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
        RecordsDoNotAlign,
        ("reports[0]", "the same 3 people", "pm.join"),
    ),
    Mistake(
        "an estimator that there is not",
        lambda: pm.estimate(FRAME, PLAN, estimator="em"),
        OptionError,
        ("estimator", "'em'", "'ml'"),
    ),
    Mistake(
        "log-linear counts of several sources",
        lambda: pm.estimate([(FRAME, PLAN), (FRAME, PLAN)], estimator="log-linear"),
        OptionError,
        ("log-linear", "'pooled'"),
    ),
    Mistake(
        "order given as a name",
        lambda: pm.estimate(FRAME, PLAN, estimator="pooled", order="sex"),
        OptionError,
        ("order", "whole number", "'sex'"),
    ),
    Mistake(
        "a table of a variable that there is not",
        lambda: counts().table(["sex", "age"]),
        UnknownVariable,
        ("'age'", "'sex', 'admitted'"),
    ),
    Mistake(
        "a table of no variables",
        lambda: counts().table([]),
        OptionError,
        ("variables", "empty"),
    ),
    Mistake(
        "a level in percent",
        lambda: counts().table("sex", level=95),
        OptionError,
        ("level", "below 1", "95"),
    ),
    Mistake(
        "a table by moments of what one source lacks",
        lambda: pm.estimate([(FRAME, PLAN), ({"age": ["old"]}, OTHER)], estimator="moment").table(
            "age"
        ),
        EstimationError,
        ("'age'", "'ml'"),
    ),
    Mistake(
        "a table of a withheld variable",
        lambda: pm.estimate(FRAME, pm.plan(DOMAIN, p=0.1, withheld=["admitted"])).table("admitted"),
        UnknownVariable,
        ("'admitted'", "'sex'"),
    ),
    Mistake(
        "independence of a variable from itself",
        lambda: counts().independence("sex", "sex"),
        OptionError,
        ("left", "right", "'sex'"),
    ),
    Mistake(
        "a structure in words",
        lambda: pm.BayesNet("sex -> admitted").fit(FRAME, PLAN),
        StructureError,
        ("structure", "'sex -> admitted'", "(parent, child)"),
    ),
    Mistake(
        "a parent that is no list",
        lambda: pm.BayesNet({"admitted": "sex"}).fit(FRAME, PLAN),
        StructureError,
        ("'admitted'", "['sex']"),
    ),
    Mistake(
        "a structure with a cycle",
        lambda: pm.BayesNet([("sex", "admitted"), ("admitted", "sex")]).fit(FRAME, PLAN),
        StructureError,
        ("cycle", "sex", "admitted"),
    ),
    Mistake(
        "an undirected graph for a structure",
        lambda: pm.BayesNet(nx.Graph([("sex", "admitted")])).fit(FRAME, PLAN),
        StructureError,
        ("structure", "directed", "Graph"),
    ),
    Mistake(
        "a structure of other variables",
        lambda: pm.BayesNet([("age", "admitted")]).fit(FRAME, PLAN),
        UnknownVariable,
        ("structure", "'age'", "sex, admitted"),
    ),
    Mistake(
        "one name for a network's variables",
        lambda: pm.BayesNet(variables="sex").fit(FRAME, PLAN),
        OptionError,
        ("variables", "list", "'sex'"),
    ),
    Mistake(
        "search options beside a given structure",
        lambda: pm.BayesNet([("sex", "admitted")], max_parents=2).fit(FRAME, PLAN),
        OptionError,
        ("max_parents", "given structure"),
    ),
    Mistake(
        "a score by pgmpy's name",
        lambda: pm.BayesNet(scoring="bic-d").fit(FRAME, PLAN),
        OptionError,
        ("score", "bic-d", " bic,"),
    ),
    Mistake(
        "an order of some variables",
        lambda: pm.BayesNet(order=["sex"]).fit(FRAME, PLAN),
        OptionError,
        ("order", "admitted"),
    ),
    Mistake(
        "a network asked before it is fitted",
        lambda: pm.BayesNet([("sex", "admitted")]).query("admitted"),
        NotFitted,
        ("BayesNet", "fit"),
    ),
    Mistake(
        "a query of no node",
        lambda: net().query("age"),
        UnknownVariable,
        ("of", "'age'", "sex, admitted"),
    ),
    Mistake(
        "a query given a category that there is not",
        lambda: net().query("admitted", given={"sex": "m"}),
        UnknownCategory,
        ("'sex'", "'m'", "'male'"),
    ),
    Mistake(
        "a query given text",
        lambda: net().query("admitted", given="sex=male"),
        OptionError,
        ("given", "dict", "'sex=male'"),
    ),
    Mistake(
        "a query of what is given",
        lambda: net().query("sex", given={"sex": "male"}),
        OptionError,
        ("of", "'sex'", "given"),
    ),
    Mistake(
        "a prediction from a frame that has every node",
        lambda: net().predict(FRAME),
        OptionError,
        ("target", "sex, admitted"),
    ),
    Mistake(
        "a prediction of no node",
        lambda: net().predict(FRAME, "age"),
        UnknownVariable,
        ("target", "'age'"),
    ),
    Mistake(
        "a prediction from other columns",
        lambda: net().predict({"Sex": ["male"]}, "admitted"),
        MissingColumn,
        ("frame", "'sex'", "'Sex'"),
    ),
    Mistake(
        "half a record sampled",
        lambda: net().sample(0.5),
        OptionError,
        ("n must be", "0.5"),
    ),
    Mistake(
        "no records sampled",
        lambda: net().sample(0),
        OptionError,
        ("n must be at least 1", "0"),
    ),
    Mistake(
        "a BIF file that is not there",
        lambda: pm.BayesNet.from_bif("asia.bif"),
        InputError,
        ("source", "'asia.bif'", "No such file"),
    ),
    Mistake(
        "a text that is no BIF",
        lambda: pm.BayesNet.from_bif("digraph {\n a -> b\n}"),
        InputError,
        ("BIF",),
    ),
    Mistake(
        "a BIF file written to a folder",
        lambda: net().to_bif(Path(tempfile.gettempdir())),
        InputError,
        ("path", "cannot be written"),
    ),
    Mistake(
        "a pgmpy model without parameters",
        lambda: pm.BayesNet.from_pgmpy(
            load("pgmpy.models", "pgmpy").DiscreteBayesianNetwork([("a", "b")])
        ),
        InputError,
        ("model", "'a'", "no table"),
    ),
    Mistake(
        "a frame for a model of pyAgrum",
        lambda: pm.BayesNet.from_pyagrum(pm.example("berkeley")),
        InputError,
        ("model", "pyAgrum", "DataFrame"),
    ),
]

"""What learners refuse, and what jobs and tasks of peers carry, are the same."""

import json
from typing import get_args

import pytest
from pydantic import TypeAdapter, ValidationError

from owner_agent.peer.protocol.messages import (
    LinearTask,
    ParametersTask,
    RulesTask,
    StructureTask,
    TaskMessage,
    TreeTask,
)
from pramana_core.errors import OptionError
from pramana_core.learn.common.options import LinearOptions, RuleOptions, TreeOptions, types_of
from pramana_core.learn.networks.structure import ParameterOptions, Scoring, Search
from pramana_core.wire.jobs import (
    AssociationRulesSpec,
    BayesNetStructureSpec,
    DecisionTreeSpec,
    LinearClassifierSpec,
    SearchMessage,
    read_job_spec,
)

READ_TASK: TypeAdapter[TaskMessage] = TypeAdapter(TaskMessage)

TREE = {"kind": "decision-tree", "target": "a", "attributes": ["b"]}
LINEAR = {"kind": "linear-classifier", "target": "a", "features": ["b"]}
RULES = {"kind": "association-rules", "variables": ["a", "b"], "minimum_support": 0.1}


def outside(kind):
    """Numbers just beyond each limit of a type, those of JSON only."""
    for limit in [limit for part in (kind, *get_args(kind)) for limit in metadata(part)]:
        for name in ("gt", "ge", "lt", "le"):
            if hasattr(limit, name):
                bound = getattr(limit, name)
                yield bound if name in ("gt", "lt") else bound + (-1 if name == "ge" else 1)


def metadata(kind):
    return getattr(kind, "__metadata__", ())


@pytest.mark.parametrize(
    ("content", "options", "given"),
    [
        (TREE, TreeOptions, {}),
        (LINEAR, LinearOptions, {}),
        (RULES, RuleOptions, {"minimum_support": 0.1}),
    ],
)
def test_a_learner_a_job_and_a_task_refuse_the_same(content, options, given):
    refused = 0
    for name, kind in types_of(options).items():
        for value in outside(kind):
            with pytest.raises(OptionError) as raised:
                options(**{**given, name: value})
            assert raised.value.where == name
            for read in (read_job_spec, READ_TASK.validate_json):
                with pytest.raises(ValidationError, match=name):
                    read(json.dumps({**content, name: value}))
            refused += 1
    assert refused >= 5


@pytest.mark.parametrize(
    ("content", "more", "options"),
    [
        (
            TREE,
            {"max_depth": 2, "significance": None, "prune": False,
             "least_records": 1, "shrinkage": 0.3},
            TreeOptions(2, None, 1.0, False, 0.3),
        ),
        (TREE, {"shrinkage": 0}, TreeOptions(shrinkage=None)),
        (TREE, {}, TreeOptions()),
        (LINEAR, {}, LinearOptions()),
        (
            LINEAR,
            {"loss": "least-squares", "l2": 1, "encoding": "ordinal", "numeric": {"b": [1, 4]},
             "basis": "cells", "sample": 4},
            LinearOptions("least-squares", 1.0, "ordinal", {"b": (1.0, 4.0)}, "cells", sample=4),
        ),
        (
            LINEAR,
            {"loss": "perceptron", "steps": 3, "keep": "longest-run"},
            LinearOptions("perceptron", steps=3, keep="longest-run"),
        ),
        (
            RULES,
            {"max_length": 3, "decisions": "controlled", "confidence": 0.9,
             "false_discovery": 0.1, "against": "population"},
            RuleOptions(0.1, 3, "controlled", 0.9, 0.1, "population"),
        ),
    ],
)  # fmt: skip
def test_jobs_and_tasks_carry_all_options(content, more, options):
    text = json.dumps(content | more)
    assert read_job_spec(text).options() == READ_TASK.validate_json(text).options() == options


def test_defaults_are_the_learners_own():
    job = BayesNetStructureSpec(kind="bayes-net-structure")
    task = StructureTask(order=["a"])
    assert job.parameters() == task.parameters() == ParameterOptions()
    assert ParametersTask(structure={"a": []}).parameters() == ParameterOptions()
    assert job.scoring() == Scoring(name=task.score) == Scoring()
    assert job.search.options() == Search()
    assert task.max_parents == Search().max_parents
    assert (task.draws, task.seed) == (job.draws, job.seed)
    for task_class, job_class in (
        (RulesTask, AssociationRulesSpec),
        (TreeTask, DecisionTreeSpec),
        (LinearTask, LinearClassifierSpec),
    ):
        for name, field in task_class.model_fields.items():
            own = {"kind", "variables", "attributes", "features"}
            # How long itemsets may be at the miner is a matter of its tables.
            if name not in own | {"max_length"}:
                assert field.get_default(call_default_factory=True) == job_class.model_fields[
                    name
                ].get_default(call_default_factory=True), name


@pytest.mark.parametrize(
    ("job", "task"),
    [(BayesNetStructureSpec, StructureTask), (SearchMessage, StructureTask)],
)
def test_networks_have_the_same_limits(job, task):
    bounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum"}
    first, second = (
        {
            name: {key: value for key, value in field.items() if key in bounds}
            for name, field in kind.model_json_schema()["properties"].items()
        }
        for kind in (job, task)
    )
    shared = set(first) & set(second) - {"kind", "order", "score"}
    if job is SearchMessage:
        # That of the task is how parameters are estimated.
        shared -= {"method"}
    assert shared >= ({"max_parents"} if job is SearchMessage else {"draws", "seed", "method"})
    assert {name: first[name] for name in shared} == {name: second[name] for name in shared}


@pytest.mark.parametrize("kind", [DecisionTreeSpec, TreeTask])
@pytest.mark.parametrize("wrong", [{"max_depth": "2"}, {"max_depth": 2.0}, {"prune": 1}])
def test_whole_numbers_and_flags_are_read_from_nothing_else(kind, wrong):
    with pytest.raises(ValidationError):
        kind.model_validate({**TREE, **wrong})

"""What forms of jobs ask for, as they are filled in; what they say before a job runs."""

from __future__ import annotations

import re

import pytest

from miner_service.http.pages.job_forms import form_of
from miner_service.http.pages.rendering import SentForm
from miner_service.kinds.counts import told_of_plans
from pramana_core.channels import RESOLUTION, Choice, Sampled, Symmetric
from pramana_core.domain import Variable
from pramana_core.errors import InputError
from pramana_core.plan import Block, Plan
from tests.miner_service import masking
from tests.miner_service.http.pages.browsers import Browser
from tests.miner_service.http.pages.test_pages import text_of

KNOWN = ["age", "sex", "a=b", "a -> b"]


def asked(kind, **fields):
    """What a form asks for that was left as it was but for some fields, each with its values."""
    form = form_of(kind)
    sent = {one.name: [one.default] for one in form.inputs if one.kind in ("choice", "number")}
    sent |= {one.name: ["on"] for one in form.inputs if one.default == "true"}
    return form.read(SentForm({**sent, **fields}), KNOWN).spec


def test_a_form_that_is_left_as_it_was_asks_for_the_defaults():
    target = {"target": ["age"]}
    for kind, fields in {
        "bayes-net-structure": {},
        "decision-tree": target,
        "linear-classifier": target,
        "bayes-classifier": target,
        "regression": target,
        "model-sharing": {},
    }.items():
        spec = form_of(kind).of.spec
        least = {name: values[0] for name, values in fields.items()}
        assert asked(kind, **fields) == spec.model_validate({"kind": kind, **least})


def test_a_score_and_a_search_are_fields():
    found = asked(
        "bayes-net-structure",
        **{
            "score.name": ["bic"],
            "score.c_star": ["2"],
            "score.alpha": ["7"],  # of another score: not read
            "search.order": ["sex\r\na=b\r\n\r\nage"],
            "search.max_parents": ["2"],
            "search.refine": [],
        },
    )
    assert found.score.model_dump() == {"name": "bic", "eta": 1.0, "c_star": 2.0}
    assert found.search.order == ("sex", "a=b", "age")
    assert (found.search.max_parents, found.search.refine) == (2, False)


def test_a_structure_is_checked_or_written_a_line_for_each_link():
    checked = {"structure/": ["age", "sex"], "structure/sex": ["age", "a=b"]}
    # A parent that is left out of the network is none.
    assert asked("bayes-net-parameters", **checked).structure == {"age": [], "sex": ["age"]}
    lines = {"structure/links": ["age -> sex\n a=b->sex\na -> b -> age"]}
    assert asked("bayes-net-parameters", **lines).structure == {
        "age": ["a -> b"],
        "sex": ["age", "a=b"],
        "a=b": [],
        "a -> b": [],
    }


def test_items_numbers_and_owners_are_written_without_json():
    found = asked("association-rules", items=["age=old\nage=a=b\na=b=yes"])
    assert found.items == {"age": ["old", "a=b"], "a=b": ["yes"]}
    assert found.minimum_support == 0.1
    numbers = asked("linear-classifier", target=["sex"], numeric=["age=1, 2.5,4"])
    assert numbers.numeric == {"age": (1.0, 2.5, 4.0)}
    assert asked("model-sharing", owners=["north", "west"]).owners == ["north", "west"]
    typed = asked("contingency-table", variables=["age\r\nsex"])
    assert typed.variables == ["age", "sex"]


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("bayes-net-parameters", {"structure/links": ["nobody -> age"]}),
        ("association-rules", {"items": ["age"]}),
        ("linear-classifier", {"target": ["sex"], "numeric": ["age=1,many"]}),
        ("bayes-net-structure", {"search.max_parents": ["0"]}),
    ],
)
def test_what_cannot_be_read_is_told_with_its_field(kind, fields):
    with pytest.raises(InputError) as told:
        asked(kind, **fields)
    assert told.value.where.split(".")[0] in {name.split("/")[0].split(".")[0] for name in fields}
    assert "nobody" not in told.value.message


def test_a_form_says_what_the_records_can_tell(study):
    browser = study.browser(study.analyst)
    first = text_of(browser.get("/pages/studies/s/jobs/new?kind=decision-tree"))
    assert "What 200 records under these plans can tell" in first
    assert "A split is told from noise where a combination is" in first
    assert (
        "the same at all owners"
        in browser.get("/pages/studies/s/jobs/new?kind=decision-tree")
        .text.partition("selected>")[2]
        .partition("</option>")[0]
    )
    sent = {"kind": "contingency-table", "variables": ["C"], "records": "common", "only": "cost"}
    told = text_of(browser.post("/pages/studies/s/jobs", sent))
    assert "A category's share is told to ±" in told
    assert "A combination of two" not in told


def test_where_no_record_is_shared_no_link_between_owners_is_foretold(start, build):
    miner = start()
    analyst = miner.study("s")
    people = {"north": range(100), "south": range(100, 300), "west": range(300, 600)}
    for owner, names in {"north": "AB", "south": "AB", "west": "CD"}.items():
        variables = [Variable(name, ("no", "yes")) for name in names]
        plan = Plan(tuple(Block((v,), Symmetric.from_gamma(2, 9)) for v in variables))
        codes = {name: [i % 2 for i in people[owner]] for name in names}
        miner.owner("s", owner).publish("s", build(plan, people[owner], codes))
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    told = text_of(browser.get("/pages/studies/s/jobs/new?kind=bayes-net-structure"))
    told = re.sub("[\u2068\u2069]", "", told)
    assert "No record is at every owner; what each owner's records tell alone:" in told
    assert "north, south: What 300 records" in told
    assert "west: What 300 records" in told
    assert "What 600 records" not in told
    linked = re.findall(r"(\w) and (\w)\)", told)
    assert {frozenset(pair) for pair in linked} == {frozenset("AB"), frozenset("CD")}


def test_what_nothing_bounds_is_not_shown_as_nothing_spent(start):
    miner = start()
    analyst = miner.study("s")
    miner.owner("s", "west").publish("s", masking.masked(range(40)))
    browser = Browser(miner)
    browser.sign_in(analyst.token)
    for part in ("", "/privacy"):
        drawn = browser.get(f"/pages/studies/s{part}").text
        assert 'aria-label="epsilon 0 spent"' not in drawn
        assert drawn.count('aria-label="no bound"') >= 2
    form = text_of(browser.get("/pages/studies/s/jobs/new?kind=regression"))
    assert "What 40 records can tell, beside what masking adds" in form


def test_of_pairs_that_are_not_foretold_the_form_says_so():
    """Each record reports one of some sets, drawn by lot: moments tell no pair across blocks."""
    first, second = Variable("first", ("a", "b")), Variable("second", ("c", "d", "e"))
    half = RESOLUTION // 2
    alone = [Symmetric.from_gamma(v.size, 5.0) for v in (first, second)]
    sets = Sampled((2, 3), (Choice((0,), half, alone[0]), Choice((1,), half, alone[1])))
    by_lot = Plan((Block((first, second), sets),))
    said = " ".join(told_of_plans("bayes-net-structure", [by_lot], 500))
    assert "A category's share is told to ±" in said
    assert "How well pairs are told is not foretold here" in said
    apart = Plan((Block((first,), alone[0]), Block((second,), alone[1])))
    assert "not foretold" not in " ".join(told_of_plans("bayes-net-structure", [apart], 500))

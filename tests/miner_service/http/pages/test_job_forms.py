"""What forms of jobs ask for, as they are filled in; what they say before a job runs."""

from __future__ import annotations

import pytest

from miner_service.http.pages.job_forms import form_of
from miner_service.http.pages.rendering import SentForm
from pramana_core.errors import InputError
from pramana_core.learn.common.options import Scoring
from tests.miner_service import masking
from tests.miner_service.http.pages.browsers import Browser

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
            "search.max_parents": ["2"],
            "search.refine": [],
        },
    )
    assert found.score.options() == Scoring("bic", c_star=2.0)
    assert (found.search.max_parents, found.search.refine) == (2, False)


def test_a_structure_is_written_a_line_for_each_link():
    lines = {"structure": ["age -> sex\n a=b->sex\na -> b -> age"]}
    assert asked("bayes-net-parameters", **lines).structure == {
        "age": ["a -> b"],
        "sex": ["age", "a=b"],
        "a=b": [],
        "a -> b": [],
    }


def test_variables_and_owners_are_chosen_or_typed():
    assert asked("association-rules").minimum_support == 0.1
    assert asked("model-sharing", owners=["north", "west"]).owners == ["north", "west"]
    typed = asked("contingency-table", variables=["age\r\nsex"])
    assert typed.variables == ["age", "sex"]
    assert typed.groups is None
    lines = ["young -> all\r\n18-30 -> young\r\na -> b -> young\r\n"]
    grouped = asked("contingency-table", variables=["age"], groups=lines)
    assert grouped.groups == {"all": ["young"], "young": ["18-30", "a -> b"]}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("bayes-net-parameters", {"structure": ["nobody -> age"]}),
        ("bayes-net-structure", {"search.max_parents": ["0"]}),
        ("contingency-table", {"variables": ["age"], "groups": ["18-30 in young"]}),
    ],
)
def test_what_cannot_be_read_is_told_with_its_field(kind, fields):
    with pytest.raises(InputError) as told:
        asked(kind, **fields)
    assert told.value.where.split(".")[0] in {name.split(".")[0] for name in fields}
    assert "nobody" not in told.value.message


def test_a_form_chooses_the_records_that_the_study_declares(study):
    browser = study.browser(study.analyst)
    assert (
        "the same at all owners"
        in browser.get("/pages/studies/s/jobs/new?kind=decision-tree")
        .text.partition("selected>")[2]
        .partition("</option>")[0]
    )


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

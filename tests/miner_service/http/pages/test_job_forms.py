"""What forms of jobs ask for, as they are filled in; what they say before a job runs."""

from __future__ import annotations

import json

import pytest

from miner_service.http.pages.job_forms import form_of
from miner_service.http.pages.rendering import SentForm
from pramana_core.errors import InputError
from pramana_core.learn.common.options import Scoring
from tests.miner_service import masking
from tests.miner_service.http.pages.browsers import Browser

KNOWN = ["age", "sex", "a=b", "a -> b", "two\nlines", 'a "b", c; d', "é\u2028ü", "[]"]


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


def as_sent(text):
    """What a browser sends of a field."""
    return text.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("kind", "field", "more"),
    [
        ("bayes-net-parameters", "structure", {}),
        ("contingency-table", "groups", {"variables": ["age"]}),
    ],
)
def test_a_mapping_is_written_as_in_the_rest_api(kind, field, more):
    """Also with names that contain any character; the form of a repeated job has the same."""
    wanted = {name: [other for other in KNOWN if other > name] for name in KNOWN}
    written = json.dumps(wanted, indent=1, ensure_ascii=False)
    found = asked(kind, **{field: [as_sent(written)], **more})
    assert getattr(found, field) == wanted
    again = form_of(kind).fields_of(found.model_dump(mode="json"))
    assert getattr(asked(kind, **{field: again[field], **more}), field) == wanted


@pytest.mark.parametrize("name", KNOWN)
def test_a_ticked_or_chosen_name_may_contain_any_character(name):
    ticked = asked("contingency-table", variables=[as_sent(name), "age"])
    assert ticked.variables == [name, "age"]
    assert asked("decision-tree", target=[as_sent(name)]).target == name
    listed = asked("contingency-table", variables=[json.dumps([name, "x, y"])])
    assert listed.variables == [name, "x, y"]


def test_variables_and_owners_are_chosen_or_typed():
    assert asked("association-rules").minimum_support == 0.1
    assert asked("model-sharing", owners=["north", "west"]).owners == ["north", "west"]
    typed = asked("contingency-table", variables=["age\r\nsex"])
    assert typed.variables == ["age", "sex"]
    assert typed.groups is None


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("bayes-net-parameters", {"structure": ["nobody -> age"]}),
        ("bayes-net-parameters", {"structure": ['["nobody"]']}),
        ("bayes-net-parameters", {"structure": [""]}),
        ("contingency-table", {"variables": ["age"], "groups": ["[" * 100_000]}),
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

"""The same question by the form, by REST, in the terminal and in Python is the same job."""

from __future__ import annotations

import html
import json
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import pramana as pm
import pramana.client.connecting as connecting
from pramana.cli import main
from pramana.client.job import kinds
from tests.miner_service.http.pages.browsers import Browser
from tests.pramana.client.world import STUDY, URL

PARENTS = {"survived": ["sex"], "sex": [], "class": [], "age": []}

GROUPS = {"guests": {"cabins": ["1st", "2nd"], "steerage": ["3rd"]}, "staff": ["crew"]}

TITANIC = pm.Plan.unrandomized(pm.Domain.of(**{"class": ["1st", "2nd", "3rd", "crew"]}))

QUESTIONS = {
    "bayes-net-structure": (pm.BayesNet(), {}),
    "bayes-net-parameters": (pm.BayesNet(structure=PARENTS), {"structure": PARENTS}),
    "contingency-table": (None, {"variables": ["class"], "groups": GROUPS}),
    "association-rules": (pm.AssociationRules(0.1), {"minimum_support": 0.1}),
    "decision-tree": (pm.DecisionTree("survived"), {"target": "survived"}),
    "linear-classifier": (pm.LinearClassifier("survived"), {"target": "survived"}),
    "bayes-classifier": (pm.BayesClassifier("survived"), {"target": "survived"}),
}
"""Of each kind the estimator, and the fields without a default."""


class Form(HTMLParser):
    """The fields that a browser sends of a form that nobody filled in."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.select, self.textarea = {}, None, None
        self.feed(page[page.index("<h1>") :])

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        match tag:
            case "select":
                self.select = given["name"]
            case "option" if self.select not in self.fields or "selected" in given:
                self.fields[self.select] = [given["value"]]
            case "textarea":
                self.textarea = given["name"]
                self.fields[self.textarea] = [""]
            case "input" if given.get("type") != "checkbox" or "checked" in given:
                self.fields.setdefault(given["name"], []).append(given.get("value", "on"))

    def handle_data(self, data):
        if self.textarea:
            self.fields[self.textarea] = [data]

    def handle_endtag(self, tag):
        if tag in ("select", "textarea"):
            self.select = self.textarea = None


def by_form(world, kind, needed):
    """Fill in what is needed and send the form."""
    browser = Browser(SimpleNamespace(app=world.client.app))
    browser.sign_in(world.token)
    page = browser.get(f"/pages/studies/{STUDY}/jobs/new?kind={kind}").text
    fields = Form(page).fields
    for name, value in needed.items():
        written = json.dumps(value) if isinstance(value, dict) else str(value)
        fields[name] = value if isinstance(value, list) else [written]
    address = f"/pages/studies/{STUDY}/jobs"
    return browser.client.post(address, data=fields, follow_redirects=False)


def by_rest(world, kind, needed):
    """Send what is needed."""
    body = {"spec": {"kind": kind, **needed}}
    return world.rest("POST", f"/v1/studies/{STUDY}/jobs", world.token, json=body)


def by_terminal(world, kind, needed, monkeypatch, capsys):
    """Type what is needed."""
    words = [f"--set={name}={json.dumps(value)}" for name, value in needed.items()]
    monkeypatch.setattr(sys, "argv", ["pramana", "study", "run", kind, *words, "--json"])
    monkeypatch.setenv("PRAMANA_MINER", URL)
    monkeypatch.setenv("PRAMANA_STUDY", STUDY)
    monkeypatch.setenv("PRAMANA_TOKEN", world.token)
    real = connecting.connect

    def connect(url, **options):
        return real(url, transport=world.transport, sleep=world.sleep, **options)

    with monkeypatch.context() as patch:
        patch.setattr(connecting, "connect", connect)
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def by_python(world, learner, needed):
    """Run an estimator."""
    study = world.study()
    return (study.table(**needed) if learner is None else study.run(learner)).id


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_same_question_is_the_same_job_by_every_way(world, kind, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    learner, needed = QUESTIONS[kind]
    form = by_form(world, kind, needed)
    assert form.status_code == 303, form.text
    code, out, err = by_terminal(world, kind, needed, monkeypatch, capsys)
    assert not code, err
    ids = {
        "form": form.headers["location"].rpartition("/")[2],
        "rest": by_rest(world, kind, needed)["id"],
        "terminal": json.loads(out)["id"],
        "python": by_python(world, learner, needed),
    }
    specs = {
        way: world.rest("GET", f"/v1/jobs/{job}", world.token)["spec"] for way, job in ids.items()
    }
    for way, spec in specs.items():
        assert spec == specs["rest"], way
    assert len(set(ids.values())) == 1
    other = by_rest(world, "contingency-table", {"variables": ["age"]})["id"]
    assert other not in ids.values()


@pytest.mark.slow
@pytest.mark.parametrize(
    "groups",
    [{**GROUPS, "none": []}, {"": ["1st"]}, {"guests": ["1st", "2nd"]}, {"all": 3}],
    ids=str,
)
def test_wrong_groups_are_refused_alike_by_every_way(world, groups, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    needed = {"variables": ["class"], "groups": groups}
    with pytest.raises(pm.OptionError) as refused:
        by_python(world, None, needed)
    assert refused.value.where == "groups"
    said = refused.value.message.partition("; write")[0]
    form = by_form(world, "contingency-table", needed)
    assert form.status_code == 422
    assert said in html.unescape(form.text)
    code, _, err = by_terminal(world, "contingency-table", needed, monkeypatch, capsys)
    assert code == refused.value.exit_code
    assert said in " ".join(err.split())
    with pytest.raises(pm.OptionError) as local:
        pm.estimate(pm.example("titanic"), TITANIC).levels("class", groups)
    assert local.value.message == refused.value.message


def test_every_kind_that_learns_from_reports_is_asked():
    assert set(QUESTIONS) == set(kinds()) - {"regression", "model-sharing"}

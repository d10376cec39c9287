"""`pramana study`: what an analyst types, what is printed, and what it ends with."""

from __future__ import annotations

import json
import re
import sys
from typing import NamedTuple

import pytest

import pramana as pm
import pramana.client.connecting as connecting
from miner_service.store.people import find_study
from pramana.cli import main
from tests.pramana.client.world import STUDY, URL


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def call_at(tmp_path, monkeypatch, capsys):
    """Type `pramana study ...` at a miner, in a folder that has the analyst's access file."""
    return lambda world: typing_at(world, tmp_path, monkeypatch, capsys)


@pytest.fixture
def call(world, call_at):
    return call_at(world)


def typing_at(world, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    access = tmp_path / "analyst.json"
    told = {"miner": URL, "study": STUDY, "name": "ana", "token": world.token, "expires": None}
    access.write_text(json.dumps(told))
    access.chmod(0o600)
    asked, real = [], connecting.connect

    def connect(url, **options):
        asked.append((url, options))
        return real(url, transport=world.transport, sleep=world.sleep, **options)

    monkeypatch.setattr(connecting, "connect", connect)

    def typed(*words):
        monkeypatch.setattr(sys, "argv", ["pramana", "study", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(ended.value.code or 0, *capsys.readouterr())

    typed.asked, typed.access, typed.world = asked, access, world
    return typed


@pytest.mark.slow
def test_from_a_kind_of_job_to_predictions(call, tmp_path):
    options = ("--target", "survived", "--set", "model=naive-bayes")
    started = call("run", "bayes-classifier", *options)
    assert started.code == 0, started.err
    job = started.out.split()[1]
    assert f"Next: pramana study watch {job}" in started.out
    watched = call("watch", job)
    assert watched.code == 0, watched.err
    assert "BayesClassifier" in watched.out or "NaiveBayes" in watched.out
    told = json.loads(call("run", "bayes-classifier", *options, "--wait", "--json").out)
    assert (told["id"], told["state"], told["warnings"]) == (job, "succeeded", [])
    (line,) = json.loads(call("jobs", "--json").out)
    assert (line["id"], line["kind"], line["model"]) == (job, "bayes-classifier", told["model"])
    assert job in call("jobs").out
    (model,) = json.loads(call("models", "--json").out)
    assert (model["id"], model["job"]) == (told["model"], job)
    assert told["model"] in call("models").out

    fetched = call("fetch", model["id"], "--out", "classifier.json")
    assert (fetched.code, "Wrote classifier.json" in fetched.out) == (0, True)
    loaded = pm.load(tmp_path / "classifier.json")
    assert call("fetch", model["id"], "--out", "classifier.json").code == 2, "it is not replaced"
    assert call("fetch", model["id"], "--form", "svg", "--json").code == 0
    at_once = call("run", "bayes-classifier", *options, "--out", "at-once.json")
    assert (at_once.code, "Wrote at-once.json" in at_once.out) == (0, True), at_once.err
    written = [(tmp_path / f"{name}.json").read_bytes() for name in ("at-once", "classifier")]
    assert written[0] == written[1]
    assert (tmp_path / f"{model['id']}.svg").read_text().startswith("<svg")

    people = pm.example("titanic")
    people.to_csv(tmp_path / "people.csv", index_label="id")
    words = ("people.csv", "--record-id", "id", "--json")
    by_id = json.loads(call("predict", model["id"], *words, "--out", "one.csv").out)
    by_file = json.loads(call("predict", "classifier.json", *words, "--out", "two.csv").out)
    assert by_id["predicted"] == by_file["predicted"]
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "two.csv").read_text()
    assert by_id["predicted"]["yes"] == int((loaded.predict(people) == "yes").sum())

    shown = call("show")
    assert "line reports class, sex." in shown.out
    told = json.loads(call("show", "--json").out)
    assert told["next"] == []
    assert {owner["name"] for owner in told["owners"]} == {"line", "port"}
    assert told["told"][0]["of"] == "record"


KINDS = {
    **dict.fromkeys(
        ("decision-tree", "linear-classifier", "bayes-classifier"), ("--target", "survived")
    ),
    "contingency-table": ("--variable", "sex"),
    "association-rules": ("--set", "minimum_support=0.1"),
    "bayes-net-structure": ("--set", "draws=0"),
    "bayes-net-parameters": ("--set", 'structure={"sex": [], "survived": ["sex"]}'),
}
"""What each kind of job on randomized records needs to be typed."""


@pytest.mark.slow
def test_in_a_study_of_different_people_nothing_is_said_of_records(start, call_at):
    """Every kind counts all records, by the command and by `pm` alike."""
    world = start()
    with world.services.database.write() as session:
        find_study(session, STUDY).people = "different"
    people = pm.example("titanic")
    plan = pm.plan(pm.domain(people, pm.observed_categories(people)), p=0.1)
    for number, owner in enumerate(("a", "b")):
        part = people.iloc[number::2]
        keys = pm.Keys.for_experiments(number)
        world.publish(owner, pm.randomize(part, plan, keys, record_id=part.index, study=STUDY))
    study, call = world.study(), call_at(world)
    assert set(KINDS) == set(json.loads(call("kinds", "--json").out)) - {
        "regression", "model-sharing"
    }  # fmt: skip
    jobs = {}
    for kind, words in KINDS.items():
        ended = call("run", kind, *words, "--json")
        assert ended.code == 0, ended.err
        jobs[kind] = json.loads(ended.out)
        assert jobs[kind]["spec"]["records"] == "any"
    tree = study.run(pm.DecisionTree("survived"))
    assert tree.id == jobs["decision-tree"]["id"]
    table = study.table("sex")
    assert table.id == jobs["contingency-table"]["id"]
    assert tree.wait().model.n_records_ == len(people)
    assert table.wait().model["count"].sum() == pytest.approx(len(people))


@pytest.mark.slow
def test_a_table_is_a_kind_and_a_job_can_be_cancelled(call):
    ended = call("run", "contingency-table", "--variable", "sex", "--variable", "class", "--wait")
    assert (ended.code, "se_records" in ended.out) == (0, True), ended.err
    (model,) = re.findall(r"pramana study fetch (\S+)", ended.out)
    assert f"Its page is {URL}/pages/models/{model}." in " ".join(ended.out.split())
    # A count and its interval are of the same kind, which is stated; no cell has ten digits.
    assert "before any projection, with its 95 % interval" in " ".join(ended.out.split())
    assert not re.search(r"\d\.\d{2}", ended.out.partition("`count`")[0])
    absent = call("run", "contingency-table", "--wait")
    assert (absent.code, "variables are age, class, sex, survived" in absent.err) == (2, True)
    unknown = call("fetch", "m-none")
    assert f"it has {json.loads(call('models', '--json').out)[0]['id']}" in unknown.err
    job = json.loads(call("jobs", "--json").out)[0]["id"]
    assert json.loads(call("cancel", job, "--json").out)["state"] == "succeeded", "it was finished"


@pytest.mark.slow
def test_nested_options_and_options_in_files(call, tmp_path):
    job = json.loads(call("run", "bayes-net-structure", "--variable", "sex", "--variable", "class",
                          "--set", "score.name=bic", "--set", "draws=0", "--json").out)  # fmt: skip
    assert (job["spec"]["score"]["name"], job["spec"]["draws"]) == ("bic", 0)
    (tmp_path / "parents.json").write_text('{"sex": [], "survived": ["sex"]}')
    words = ("run", "bayes-net-parameters", "--set", "structure=@parents.json", "--wait", "--json")
    assert json.loads(call(*words).out)["state"] == "succeeded"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "decision-treee"), "did you mean 'decision-tree'?"),
        (("run", "decision-tree"), "target"),
        (("run", "decision-tree", "--target", "sex", "--set", "max_dept=3"), "'max_depth'"),
        (("run", "decision-tree", "--target", "sex", "--set", "max_depth"), "has no value"),
        (("run", "decision-tree", "--target", "sex", "--set", "max_depth=no"), "--set max_depth="),
        (("run", "contingency-table", "--target", "sex"), "have no option 'target'"),
        (("run", "decision-tree", "--target", "sex", "--records", "all"), "'identical'"),
        (("kinds", "tree"), "No kind of job is called 'tree'"),
    ],
)
def test_what_is_typed_wrong_is_said_before_anything_is_asked(call, words, told):
    ended = call(*words)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


def test_a_file_that_is_there_is_kept_and_nothing_is_asked(call, tmp_path):
    (tmp_path / "model.json").write_text("mine")
    ended = call("run", "decision-tree", "--target", "sex", "--out", "model.json")
    assert (ended.code, "model.json exists" in ended.err, call.asked) == (2, True, [])
    assert (tmp_path / "model.json").read_text() == "mine"


def test_the_way_is_a_file_or_the_environment_and_the_token_is_never_shown(call, monkeypatch):
    assert call("jobs").code == 0
    assert call.asked[-1][0] == URL
    call.access.chmod(0o644)
    open_to_all = call("jobs")
    assert (open_to_all.code, "chmod 600" in open_to_all.err) == (3, True)
    call.access.write_text(f'{{"token": "{call.world.token}"}}')
    call.access.chmod(0o600)
    broken = call("jobs")
    assert (broken.code, "not an access file" in broken.err) == (2, True)
    assert call.world.token not in open_to_all.err + broken.err
    call.access.unlink()
    absent = call("jobs")
    assert (absent.code, "The miner is missing" in absent.err) == (2, True)
    monkeypatch.setenv("PRAMANA_MINER", URL)
    monkeypatch.setenv("PRAMANA_STUDY", STUDY)
    without = call("jobs")
    assert (without.code, "token" in without.err) == (2, True)
    monkeypatch.setenv("PRAMANA_TOKEN", call.world.token)
    assert call("jobs").code == 0
    other = call("--study", "voyages", "jobs")
    assert (other.code, "the token may see 'voyage'" in other.err) == (4, True)


def test_a_token_goes_to_the_miner_that_it_is_of(call, monkeypatch, tmp_path):
    """Neither the file's token to another miner, nor another token to the file's miner."""
    other = "https://elsewhere.example.org"
    away = call("--miner", other, "jobs")
    assert (away.code, "so its token is not sent to" in away.err) == (2, True), away.err
    monkeypatch.setenv("PRAMANA_TOKEN", call.world.token)
    unsaid = call("jobs")
    assert (unsaid.code, "The token does not come from analyst.json" in unsaid.err) == (2, True)
    assert not call.asked, "nothing was sent"
    with pytest.raises(pm.InputError, match="so its token is not sent to"):
        pm.connect(other, token_file=call.access)
    assert call("--access", call.access, "jobs").code == 0
    assert call("--miner", URL, "jobs").code == 0


def test_kinds_and_their_options_are_those_of_the_wire(call):
    from pramana.client.job import kinds

    listed = call("kinds")
    for line in listed.out.strip().splitlines()[:-1]:
        assert line.endswith("."), line
        assert line.count("(") == line.count(")"), "a sentence is cut"
    assert all(f"{kind}: " in listed.out for kind in kinds())
    told = json.loads(call("kinds", "decision-tree", "--json").out)
    assert told["target"]["needed"]
    assert not told["max_depth"]["needed"]
    assert "target: required" in call("kinds", "decision-tree").out

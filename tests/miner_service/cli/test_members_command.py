"""`miner-service study create --owners`, `invite`, `analyst`, `gateway`, `show`: what they do."""

from __future__ import annotations

import json
import stat

import pytest

from miner_service.cli.members import write_address
from miner_service.settings import Settings, WebSettings
from pramana_core.errors import OptionError
from tests.miner_service.cli.test_study_plan_command import run
from tests.miner_service.conftest import Person
from tests.miner_service.intake.test_study_plans import AGREED, lone


@pytest.fixture
def study(miner, tmp_path):
    """Call a `study` command on the miner's data; invitations go to `tmp_path`."""

    def call(command, *words, code=0):
        return run("study", command, *words, "--data", miner.data, code=code)

    write_address(miner.services.settings, "http://127.0.0.1:4711")
    call.folder = tmp_path / "invitations"
    call.folder.mkdir()
    return call


def create(study, *words, code=0):
    return study(
        "create", "nursery", "--people", "same", "--folder", study.folder, *words, code=code
    )


def test_a_study_is_opened_with_an_invitation_for_each_owner(miner, study):
    said = create(study, "--owners", "family,means", "--url", "https://miner.example.org")
    assert said.startswith("Study nursery is open. Its owners hold the same people.")
    for owner in ("family", "means"):
        file = study.folder / f"nursery-{owner}.invitation"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        told = json.loads(file.read_text())
        assert (told["miner"], told["study"], told["owner"]) == (
            "https://miner.example.org", "nursery", owner,
        )  # fmt: skip
        assert told["secret"] not in said
        secret = {"secret": told["secret"]}
        accepted = miner.nobody("POST", "/v1/invitations/accept", json=secret).json()
        assert (accepted["role"], accepted["name"]) == ("owner", owner)
    noted = [json.loads(line) for line in (miner.data / "audit.jsonl").read_text().splitlines()]
    made = [(e["action"], e["outcome"]) for e in noted if e["role"] == "command"]
    assert made == [("create_study", 201), *[("create_invitation", 201)] * 2]


ISSUED = [
    ("create", "nursery", "--owners", "family"),
    ("create", "nursery", "--access-file"),
    ("invite", "asia", "family"),
    ("analyst", "asia", "--access-file"),
]


@pytest.mark.parametrize("words", ISSUED, ids=lambda words: f"{words[0]} {words[-1]}")
@pytest.mark.parametrize(
    ("listening", "public", "given", "named"),
    [
        ("http://127.0.0.1:4711", None, None, "http://127.0.0.1:4711"),
        ("https://[2001:db8::1]:8443", None, None, "https://[2001:db8::1]:8443"),
        ("http://0.0.0.0:8000", "https://m.org/p", None, "https://m.org/p"),
        ("http://127.0.0.1:4711", "https://m.org/p", "https://other.org", "https://other.org"),
        ("http://0.0.0.0:8000", None, "https://other.org", "https://other.org"),
        ("http://0.0.0.0:8000", None, None, None),
        ("http://[::]:8000", None, None, None),
    ],
)
def test_files_name_the_address_of_the_service(
    miner, study, tmp_path, words, listening, public, given, named
):
    """That on which it listens, or the one that was given; never one that is made up."""
    miner.study("asia")
    write_address(Settings(miner.data, web=WebSettings(public_url=public)), listening)
    file = tmp_path / "access.json"
    words = [*words, file] if words[-1] == "--access-file" else [*words, "--folder", study.folder]
    words += ["--url", given] if given else []
    said = study(*words, code=0 if named else 2)
    made = [*study.folder.iterdir(), *([file] if file.exists() else [])]
    assert [json.loads(one.read_text())["miner"] for one in made] == ([named] if named else [])
    assert named or "--public-url" in said


@pytest.mark.parametrize("url", ["miner", "ftp://m.org", "https://u:p@m.org", "https://m.org?x"])
def test_a_public_address_that_is_none_is_refused(url):
    with pytest.raises(OptionError) as refused:
        WebSettings(public_url=url)
    assert refused.value.where == "public_url"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--owners", "a,b c"), "'b c' is no name"),
        (("--owners", "a,a"), "named twice"),
        (("--owners", "a", "--url", "miner"), "is not an http or https address"),
        (("--owners", "a", "--folder", "/absent"), "cannot be written"),
    ],
)
def test_what_cannot_be_invited_is_told_and_nothing_issued(miner, study, words, said):
    assert said in create(study, *words, code=2)
    assert list(study.folder.iterdir()) == []
    assert "invited" not in run("study", "create", "x", "--data", miner.data)


def test_a_plan_that_a_release_is_in_the_way_of_invites_nobody(miner, study, plan, build):
    """What is issued before the plan is refused would be good, and its owner never told."""
    create(study)
    alone = build(lone("x"), range(20), {"x": [0, 1] * 10})
    miner.owner("nursery", "east").publish("nursery", alone)
    words = ("--owners", "north,south", "--plan", plan)
    assert "would not follow" in create(study, *words, code=4)
    assert list(study.folder.iterdir()) == []
    owners = json.loads(study("show", "nursery", "--json"))["owners"]
    assert [one["name"] for one in owners] == ["east"]


def test_files_that_are_there_are_kept(study):
    file = study.folder / "nursery-b.invitation"
    file.write_text("mine")
    assert "nothing was issued" in create(study, "--owners", "a,b", code=2)
    assert [path.name for path in study.folder.iterdir()] == [file.name]
    assert file.read_text() == "mine"


def test_an_owner_who_joined_is_not_invited_and_no_file_is_left(miner, study):
    create(study)
    miner.owner("nursery", "family")
    said = study("invite", "nursery", "means", "family", "--folder", study.folder, code=4)
    assert "family is already an owner" in said
    assert list(study.folder.iterdir()) == []
    assert "invited" not in study("show", "nursery")


def test_an_analysts_token_is_shown_or_written(miner, study):
    create(study)
    said = study("analyst", "nursery")
    token = said.partition("only this once: ")[2]
    assert Person(miner.client, token, "").get("/v1/studies/nursery")["name"] == "nursery"
    file = study.folder / "analyst.token"
    assert "only this once" not in study(
        "analyst", "nursery", "--name", "ada", "--token-file", file
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (
        Person(miner.client, file.read_text().strip(), "").get("/v1/studies/nursery")["name"]
        == "nursery"
    )
    assert json.loads(study("show", "nursery", "--json"))["analysts"] == ["analyst", "ada"]
    assert "no such study" in study("analyst", "absent", code=4)


def test_show_says_who_is_in_and_what_is_next(miner, study):
    create(study, "--max-epsilon-record", "3")
    said = study("show", "nursery")
    assert "Next: miner-service study invite nursery OWNER..." in said
    assert "Next: miner-service study plan set nursery FILE" in said
    study("invite", "nursery", "means", "--folder", study.folder)
    miner.owner("nursery", "family")
    said = study("show", "nursery")
    assert "epsilon 0 of 3 that may be told" in said
    assert "OWNER..." not in said
    told = json.loads(study("show", "nursery", "--json"))
    assert [(o["name"], o["state"]) for o in told["owners"]] == [
        ("family", "joined"),
        ("means", "invited"),
    ]
    assert (told["people"], told["plan"], told["jobs"]) == ("same", None, {})
    assert "no such study" in study("show", "absent", code=4)


@pytest.fixture
def plan(tmp_path):
    """The file of a plan of north and south, which tells epsilon 2.197 of a record."""
    path = tmp_path / "plan.json"
    path.write_bytes(AGREED.canonical_json())
    return path


def test_a_gateways_token_brings_reports_and_reads_nothing_else(miner, study):
    create(study)
    file = study.folder / "gateway.token"
    study("gateway", "nursery", "--name", "app", "--token-file", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    gateway = Person(miner.client, file.read_text().strip())
    assert gateway("GET", "/v1/studies/nursery").status_code == 403
    assert gateway("GET", "/v1/studies/nursery/reports/plan").status_code == 404
    assert "shown only this once: t-" in study("gateway", "nursery", "--name", "web")
    assert "no such study" in study("gateway", "absent", "--name", "app", code=4)
    assert "is no name" in study("gateway", "nursery", "--name", "a b", code=2)


def test_a_study_is_opened_with_its_plan_and_an_analysts_access(miner, study, plan):
    access = study.folder / "analyst.json"
    words = ("--owners", "south,north", "--plan", plan, "--access-file", access)
    said = create(study, *words)
    for told in (
        "Study nursery is open.", "north's invitation is", "south's invitation is",
        "The plan of study nursery is agreed on.", "north: at most epsilon 2.197",
        "The token of analyst in study nursery, good until",
    ):  # fmt: skip
        assert told in said
    assert stat.S_IMODE(access.stat().st_mode) == 0o600
    token = json.loads(access.read_text())["token"]
    assert token not in said
    seen = Person(miner.client, token, "").get("/v1/studies/nursery/plan")
    assert seen["digest"] == AGREED.digest
    assert "Next:" not in study("show", "nursery")


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--owners", "north,east"), "--owners lacks south of the plan; the plan lacks east", 2),
        (("--owners", "north"), "--owners lacks south of the plan.", 2),
        (("--owners", "north,south,east"), "other owners: the plan lacks east.", 2),
        (("--owners", "north,south", "--people", "different"), "of the same people", 2),
        (("--owners", "north,south", "--max-epsilon-record", "1"), "tells epsilon 2.197", 4),
    ],
)
def test_a_plan_that_is_not_of_this_study_opens_nothing(study, plan, words, said, code):
    access = study.folder / "analyst.json"
    told = create(study, *words, "--plan", plan, "--access-file", access, code=code)
    assert said in told
    assert list(study.folder.iterdir()) == []
    assert "no such study" in study("show", "nursery", code=4)


@pytest.mark.parametrize("content", [None, "{}", "nothing"])
def test_what_is_no_plan_opens_nothing(study, tmp_path, content):
    file = tmp_path / "p.json"
    if content is not None:
        file.write_text(content)
    create(study, "--owners", "north,south", "--plan", file, code=2)
    assert list(study.folder.iterdir()) == []
    assert "no such study" in study("show", "nursery", code=4)


def test_an_access_file_that_is_there_is_kept(study):
    access = study.folder / "analyst.json"
    access.write_text("mine")
    assert "exists; nothing was made" in create(study, "--access-file", access, code=2)
    assert access.read_text() == "mine"
    assert "no such study" in study("show", "nursery", code=4)
    create(study)
    said = study("analyst", "nursery", "--access-file", access, code=2)
    assert "exists; nothing was made" in said
    assert access.read_text() == "mine"
    assert json.loads(study("show", "nursery", "--json"))["analysts"] == []

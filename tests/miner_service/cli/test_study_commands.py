"""The `study` commands, beside a running service."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from miner_service.cli.main import app
from miner_service.settings import Settings, WebSettings
from miner_service.store.address import write_address
from pramana_core.errors import NotFound, OptionError, PramanaError
from tests.miner_service.conftest import Person
from tests.miner_service.intake.test_study_plans import AGREED, OTHER


def run(*arguments):
    """Run a command; return its output, with single blanks. Raises what it ends with."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if isinstance(result.exception, PramanaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def refused(code, where, *arguments):
    with pytest.raises(PramanaError) as caught:
        run(*arguments)
    assert (caught.value.code, caught.value.where) == (code, where)


@pytest.fixture
def study(miner, tmp_path):
    """Call `study` commands on the miner's data; invitations go to `study.folder`."""

    def words(command, *words):
        needs_folder = command in ("create", "invite")
        folder = ("--folder", call.folder) if needs_folder and "--folder" not in words else ()
        return ("study", *command.split(), *words, *folder, "--data", miner.data)

    def call(command, *more):
        return run(*words(command, *more))

    call.words = words
    call.folder = tmp_path / "invitations"
    call.folder.mkdir()
    call.access = call.folder / "analyst.json"
    write_address(miner.services.settings, "http://127.0.0.1:4711")
    return call


def noted(miner, field="outcome"):
    lines = (miner.data / "audit.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    return [(e["action"], e[field]) for e in entries if e["role"] == "command"]


@pytest.fixture
def plan(tmp_path):
    """The file of a plan of north and south, by which a record loses epsilon 2.198."""
    path = tmp_path / "plan.json"
    path.write_bytes(AGREED.canonical_json())
    return path


def test_a_study_is_opened_and_gets_invitations_plan_and_access(miner, study, plan):
    said = study("create", "nursery", "--owners", "south,north", "--people", "same")
    assert "the custodian of north, south: describe the table" in said
    assert "the operator or custodian: design" in said
    for owner in ("south", "north"):
        file = study.folder / f"nursery-{owner}.invitation"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        invitation = json.loads(file.read_text())
        named = (invitation["miner"], invitation["study"], invitation["owner"])
        assert named == ("http://127.0.0.1:4711", "nursery", owner)
        assert invitation["secret"] not in said
        secret = {"secret": invitation["secret"]}
        accepted = miner.nobody("POST", "/v1/invitations/accept", json=secret).json()
        assert (accepted["role"], accepted["name"]) == ("owner", owner)
    study("plan set", "nursery", plan)
    said += study("analyst", "nursery", "--access-file", study.access)
    assert stat.S_IMODE(study.access.stat().st_mode) == 0o600
    token = json.loads(study.access.read_text())["token"]
    assert token not in said
    assert Person(miner.client, token).get("/v1/studies/nursery/plan")["digest"] == AGREED.digest
    assert "Next, the custodian of south, north: store" in study("show", "nursery")
    assert noted(miner) == [
        ("create_study", 201),
        *[("create_invitation", 201)] * 2,
        ("put_study_plan", 201),
        ("issue_token", 201),
    ]


@pytest.mark.parametrize(
    ("listening", "public", "given", "named"),
    [
        ("https://[2001:db8::1]:8443", None, None, "https://[2001:db8::1]:8443"),
        ("http://0.0.0.0:8000", "https://m.org/p", None, "https://m.org/p"),
        ("http://127.0.0.1:4711", "https://m.org/p", "https://other.org", "https://other.org"),
        ("http://0.0.0.0:8000", None, "https://other.org", "https://other.org"),
        ("http://0.0.0.0:8000", None, None, None),
        ("http://[::]:8000", None, None, None),
    ],
)
def test_files_name_the_address_of_the_service(miner, study, listening, public, given, named):
    """The one it listens on, or the one that was given; never an invented one."""
    miner.study("asia")
    write_address(Settings(miner.data, web=WebSettings(public_url=public)), listening)
    url = ("--url", given) if given else ()
    for command, *words in (("invite", "asia", "family"), ("analyst", "asia", "--access-file")):
        words += [study.access] if command == "analyst" else []
        if named is None:
            refused("option-invalid", "url", *study.words(command, *words, *url))
        else:
            study(command, *words, *url)
    made = list(study.folder.iterdir())
    assert [json.loads(one.read_text())["miner"] for one in made] == [named] * len(made)
    assert len(made) == (0 if named is None else 2)


@pytest.mark.parametrize("url", ["miner", "ftp://m.org", "https://u:p@m.org", "https://m.org?x"])
def test_a_public_address_that_is_none_is_refused(url):
    with pytest.raises(OptionError) as caught:
        WebSettings(public_url=url)
    assert caught.value.where == "public_url"


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("--owners", "a,b c"), "owner"),
        (("--owners", "a,b", "--folder", "/absent"), "folder"),
        (("--owners", "a", "--url", "miner"), "url"),
        (("--people", "some"), "people"),
        (("--max-epsilon-record", "-1"), "max_epsilon_record"),
        (("--central-epsilon", "1"), "central_epsilon"),
        (("--delta", "1e-6"), "central_epsilon"),
        (("--central-epsilon", "-1", "--records", "10"), "max_central_epsilon"),
        (("--central-epsilon", "1", "--records", "10000000000000000000"), "central_records"),
    ],
)
def test_what_cannot_be_opened_opens_nothing(study, words, where):
    refused("option-invalid", where, *study.words("create", "x", *words))
    assert list(study.folder.iterdir()) == []
    refused("not-found", "study", *study.words("show", "x"))


def test_who_cannot_be_invited_gets_no_file(miner, study):
    study("create", "nursery")
    miner.owner("nursery", "east")
    before = noted(miner)
    refused("conflict", "owner", *study.words("invite", "nursery", "means", "east"))
    assert list(study.folder.iterdir()) == []
    assert noted(miner) == before
    refused("not-found", "study", *study.words("invite", "absent", "a"))


@pytest.mark.parametrize(
    ("command", "file", "where"),
    [
        (("create", "other", "--owners", "a,b"), "other-b.invitation", "folder"),
        (("analyst", "nursery", "--access-file", "analyst.json"), "analyst.json", "access-file"),
    ],
)
def test_existing_files_are_kept(study, command, file, where):
    study("create", "nursery")
    (study.folder / file).write_text("mine")
    name, *words = [study.folder / w if w == "analyst.json" else w for w in command]
    refused("option-invalid", where, *study.words(name, *words))
    assert [path.name for path in study.folder.iterdir()] == [file]
    assert (study.folder / file).read_text() == "mine"
    assert json.loads(study("show", "nursery", "--json"))["analysts"] == []


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("analyst", "nursery", "--access-file", "/absent/a.json"), "access-file"),
        (("gateway", "nursery", "--name", "app", "--token-file", "/absent/a"), "token-file"),
        (("invite", "nursery", "a", "--folder", "/absent"), "folder"),
    ],
)
def test_nothing_is_issued_that_could_not_be_written(miner, study, words, where):
    study("create", "nursery")
    before = noted(miner)
    refused("option-invalid", where, *study.words(*words))
    assert noted(miner) == before


def test_tokens_are_shown_once_or_written(miner, study):
    study("create", "nursery")
    token = study("analyst", "nursery").partition("only this once: ")[2]
    assert Person(miner.client, token).get("/v1/studies/nursery")["name"] == "nursery"
    assert json.loads(study("show", "nursery", "--json"))["analysts"] == ["analyst"]
    file = study.folder / "gateway.token"
    study("gateway", "nursery", "--name", "app", "--token-file", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    gateway = Person(miner.client, file.read_text().strip())
    assert gateway("GET", "/v1/studies/nursery").status_code == 403
    assert gateway("GET", "/v1/studies/nursery/reports/plan").status_code == 404
    for command, *words in (("analyst",), ("gateway", "--name", "app")):
        refused("not-found", "study", *study.words(command, "absent", *words))
        refused("option-invalid", "name", *study.words(command, "nursery", "--name", "a b"))


def test_the_audit_log_names_whom_a_command_affected(miner, study):
    study("create", "heart", "--owners", "north")
    study("remove", "heart", "north")
    study("analyst", "heart", "--name", "ana")
    study("gateway", "heart", "--name", "app")
    study("analyst", "heart", "--name", "ana", "--replace")
    assert noted(miner, "resource") == [
        ("create_study", "/v1/studies/heart"),
        ("create_invitation", "/v1/studies/heart/owners/north"),
        ("remove_owner", "/v1/studies/heart/owners/north"),
        ("issue_token", "/v1/studies/heart/tokens/ana"),
        ("issue_token", "/v1/studies/heart/tokens/app"),
        ("revoke_tokens", "/v1/studies/heart/tokens/ana"),
        ("issue_token", "/v1/studies/heart/tokens/ana"),
    ]


@contextmanager
def full_disk(monkeypatch, after=0):
    """Let a full disk refuse all files of secrets but the first ones."""
    opened, files = os.fdopen, itertools.count()

    def fdopen(descriptor, *more, **options):
        if next(files) < after:
            return opened(descriptor, *more, **options)
        os.close(descriptor)
        return Path("/dev/full").open("w")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", fdopen)
        yield


@pytest.mark.parametrize("after", [0, 1])
def test_a_full_disk_invites_nobody(miner, study, after, monkeypatch):
    study("create", "heart")
    before = noted(miner)
    with full_disk(monkeypatch, after):
        refused("option-invalid", "folder", *study.words("invite", "heart", "a", "b"))
    assert list(study.folder.iterdir()) == []
    assert noted(miner) == before
    assert miner.admin.get("/v1/studies/heart/invitations")["items"] == []
    study("invite", "heart", "a", "b")
    assert len(miner.admin.get("/v1/studies/heart/invitations")["items"]) == 2


def test_an_interrupted_invitation_leaves_no_file(miner, study, monkeypatch):
    study("create", "heart")

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fdopen", interrupted)
    words = [str(word) for word in study.words("invite", "heart", "a")]
    assert CliRunner().invoke(app, words).exit_code == 130
    assert list(study.folder.iterdir()) == []


@pytest.mark.parametrize("role", ["analyst", "gateway"])
def test_a_full_disk_keeps_the_earlier_token(miner, study, role, monkeypatch):
    study("create", "heart")
    old = study(role, "heart", "--name", "a").partition("only this once: ")[2]
    before, file = noted(miner), study.folder / "new"
    option = {"analyst": "--access-file", "gateway": "--token-file"}[role]
    replace = (role, "heart", "--name", "a", "--replace", option, file)
    with full_disk(monkeypatch):
        refused("option-invalid", option.strip("-"), *study.words(*replace))
    assert not file.exists()
    assert noted(miner) == before
    good = {"analyst": 200, "gateway": 403}[role]  # A gateway may not read the study.
    assert Person(miner.client, old)("GET", "/v1/studies/heart").status_code == good
    assert "1 earlier token ended." in study(*replace)
    assert Person(miner.client, old)("GET", "/v1/studies/heart").status_code == 401


def test_a_replacement_of_an_unknown_name_issues_nothing(miner, study):
    study("create", "heart")
    study("analyst", "heart", "--name", "analyst-1")
    before = noted(miner)
    for name in ("analyst1", "other"):
        words = study.words(
            "analyst", "heart", "--name", name, "--replace", "--access-file", study.access
        )
        with pytest.raises(NotFound) as caught:
            run(*words)
        assert caught.value.where == "name"
        assert ("'analyst-1'" in str(caught.value)) == (name == "analyst1")
    assert not study.access.exists()
    assert noted(miner) == before
    assert json.loads(study("show", "heart", "--json"))["analysts"] == ["analyst-1"]


def test_an_invited_owner_is_removed_before_it_joins(miner, study):
    study("create", "heart", "--owners", "north")
    (file,) = study.folder.iterdir()
    assert "invitations ended" in study("remove", "heart", "north")
    assert json.loads(study("show", "heart", "--json"))["invited"] == {}
    secret = {"secret": json.loads(file.read_text())["secret"]}
    assert miner.nobody("POST", "/v1/invitations/accept", json=secret).status_code == 404
    assert miner.admin("DELETE", "/v1/studies/heart/owners/north").status_code == 204
    refused("not-found", "owner", *study.words("remove", "heart", "south"))


def test_show_lists_owners_and_the_next_steps(miner, study):
    study("create", "nursery", "--max-epsilon-record", "3", "--people", "same")
    assert "miner-service study invite nursery OWNER..." in study("show", "nursery")
    study("invite", "nursery", "means")
    miner.owner("nursery", "family")
    assert "OWNER..." not in study("show", "nursery")
    told = json.loads(study("show", "nursery", "--json"))
    assert [(o["name"], o["active"]) for o in told["owners"]] == [("family", True)]
    assert list(told["invited"]) == ["means"]
    assert (told["study"]["people"], told["plan"], told["jobs"]) == ("same", None, [])


def test_a_plan_is_set_shown_and_removed(miner, study, plan, tmp_path):
    miner.study("s")
    for owner in ("north", "south"):
        miner.owner("s", owner)
    other = tmp_path / "other.json"
    other.write_bytes(OTHER.canonical_json())
    said = study("plan set", "s", plan)
    assert AGREED.digest in said
    assert "epsilon 2.198 (gamma 9) by one of 3 sets" in said
    assert "north: at most epsilon 2.198; reports class 75.0%, a 75.0%." in said
    again = study("plan set", "s", plan)
    assert "the custodian of north, south: store" in again
    assert "warning" not in again
    miner.owner("s", "west")
    assert "warning: the plan has no columns of west," in study("plan set", "s", plan)
    miner.admin("DELETE", "/v1/studies/s/owners/west")
    assert study("plan show", "s") in said
    assert json.loads(study("plan show", "s", "--json")) == AGREED.as_dict()
    study("plan set", "s", other)
    study("plan remove", "s")
    refused("not-found", "study plan", *study.words("plan show", "s"))
    assert noted(miner) == [
        ("put_study_plan", 201),
        *[("put_study_plan", 200)] * 2,
        ("put_study_plan", 201),
        ("delete_study_plan", 204),
    ]
    document = AGREED.as_dict()
    document["sets"][0]["weight"] = 1 << 32
    other.write_text(json.dumps(document))
    with pytest.raises(PramanaError):
        study("plan set", "s", other)
    refused("not-found", "study", *study.words("plan set", "elsewhere", plan))
    for file in ("absent.json", tmp_path):
        refused("option-invalid", "file", *study.words("plan set", "s", file))
    other.write_text("{}")
    refused("option-invalid", "file", *study.words("plan set", "s", other))


def test_the_limit_of_a_record_is_shown_rounded_down(study):
    study("create", "nursery", "--owners", "north", "--max-epsilon-record", "1.23499")
    assert re.search(r" 1\.234\b", study("show", "nursery"))

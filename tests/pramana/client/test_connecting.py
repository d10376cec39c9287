"""The line to a miner: who may use it, what goes wrong on it, and that no secret is told."""

from __future__ import annotations

import json
import logging
import traceback

import httpx
import pytest

import pramana as pm
from pramana_core.errors import KeyFileError, NotFound, Unauthenticated, Unreachable
from tests.pramana.client.world import STUDY, URL

WRONG = "t-0123456789ab.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"


def test_a_token_is_read_from_a_private_file(world, tmp_path):
    file = tmp_path / "analyst.token"
    file.touch(mode=0o600)
    file.write_text(world.token + "\n")
    assert STUDY in repr(world.connect(token_file=file))
    assert STUDY in repr(world.connect(token_file=str(file)))
    file.chmod(0o644)
    with pytest.raises(KeyFileError):
        world.connect(token_file=file)


def test_an_access_file_has_the_token(world, tmp_path):
    file = tmp_path / "analyst.json"
    file.touch(mode=0o600)
    access = {"miner": URL, "study": STUDY, "name": "ann", "token": world.token, "expires": None}
    file.write_text(json.dumps(access))
    assert STUDY in repr(world.connect(token_file=file))
    for text in (world.token, json.dumps({"token": world.token})):
        file.write_text("{" + text)
        with pytest.raises(KeyFileError) as raised:
            world.connect(token_file=file)
        assert world.token.partition(".")[2] not in str(raised.value)


def test_a_wrong_token_is_said_to_be_wrong_and_not_what_it_is(world):
    with pytest.raises(Unauthenticated) as raised:
        world.connect(token=WRONG)
    assert WRONG[15:] not in "".join(traceback.format_exception(raised.value))


@pytest.mark.slow
def test_no_text_has_the_token(world, caplog):
    caplog.set_level(logging.DEBUG)
    miner = world.connect()
    study = miner.study(STUDY)
    job = study.run(pm.NaiveBayes("survived")).wait()
    texts = [repr(miner), repr(study), repr(job), repr(job.model), repr(vars(miner)), caplog.text]
    with pytest.raises(NotFound) as raised:
        miner.study("nothing")
    texts += ["".join(traceback.format_exception(raised.value))]
    world.transport.mishaps = [_down] * 9
    with pytest.raises(Unreachable) as raised:
        study.disclosure()
    texts += ["".join(traceback.format_exception(raised.value))]
    assert not any(world.token.partition(".")[2] in text for text in texts)


def _down(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("down")


def test_a_miner_that_does_not_answer_is_asked_again_and_given_up(world):
    world.transport.mishaps = [_down] * 2
    assert STUDY in repr(world.connect())
    assert world.slept == [0.5, 1.0]
    world.transport.mishaps = [_down] * 5
    with pytest.raises(Unreachable) as raised:
        world.connect()
    assert raised.value.code == "miner-unreachable"


@pytest.mark.slow
def test_lists_are_read_to_their_end(world, monkeypatch):
    monkeypatch.setattr("pramana.client.line.PAGE", 2)
    for number in range(3):
        world.rest("POST", f"/v1/studies/{STUDY}/invitations", json={"owner": f"o{number}"})
        world.owner(f"o{number}")
    study = world.study()
    world.transport.seen.clear()
    assert study.owners()["name"].tolist() == ["line", "port", "o0", "o1", "o2"]
    assert len(world.transport.seen) == 3

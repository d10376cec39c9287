"""Joining and renewing a token: killed or out of room at any step, the same command goes on."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from owner_agent.release.agreement import join, rotate
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish
from owner_agent.release.randomized import PreparedRecords
from owner_agent.site.site import load_site
from owner_agent.state.private_files import TokenStore
from pramana_core.errors import Refused, StorageFull
from tests.full_disk import files_no_longer_than


def stored(bench) -> str:
    return TokenStore(bench.state).load("asia")


def works(bench) -> bool:
    return (
        publish(PreparedRecords, bench.site, bench.environment, PublishOptions(20)).release_id != ""
    )


def killed_before_saving(bench, monkeypatch, killed, act) -> None:
    """Let the agent end when it has the answer and nothing is written yet."""

    def end(*_words: object) -> None:
        raise killed

    with monkeypatch.context() as patched:
        patched.setattr(TokenStore, "save", end)
        with pytest.raises(killed):
            act()


@pytest.mark.parametrize("when", ["before", "after", "saving"])
def test_an_agent_killed_while_it_joins_joins_by_the_same_command(bench, killed, monkeypatch, when):
    TokenStore(bench.state).path("asia").unlink()

    def act():
        return join(bench.site, bench.miner.invitation, bench.environment)

    if when == "saving":
        killed_before_saving(bench, monkeypatch, killed, act)
    else:
        bench.miner.faults = [(when, killed())]
        with pytest.raises(killed):
            act()
    (kept,) = (bench.state / "retries").iterdir()
    assert (kept.stat().st_mode & 0o077, kept.parent.stat().st_mode & 0o077) == (0, 0)
    key = kept.read_text()
    assert act().token == stored(bench)
    sent = {request.headers["Idempotency-Key"] for request in bench.miner.requests}
    assert sent == {key}
    # Once the token is on disk nobody needs the answer again.
    assert list(kept.parent.iterdir()) == []
    assert works(bench)


def test_an_invitations_secret_alone_gets_nothing_from_a_miner_that_gave_a_token_for_it(bench):
    """Its answer can be had for a day, by whoever has the key that was sent: only this agent."""
    TokenStore(bench.state).path("asia").unlink()
    secret = bench.miner.invitation
    join(bench.site, secret, bench.environment)
    (request,) = bench.miner.requests
    derived = {sha256(part).hexdigest() for part in (secret.encode(), request.content)}
    assert request.headers["Idempotency-Key"] not in derived | {secret}
    thief = bench.folder / "thief"
    thief.mkdir()
    text = (bench.folder / "site.toml").read_text()
    (thief / "site.toml").write_text(text)
    for site in (load_site(thief / "site.toml"), bench.site):
        with pytest.raises(Refused) as refused:
            join(site, secret, bench.environment)
        assert refused.value.status == 409
    assert not (thief / ".pramana" / "tokens").exists()


def test_a_token_that_found_no_room_is_fetched_again(bench):
    TokenStore(bench.state).path("asia").unlink()
    log = bench.state / "audit.jsonl"
    with files_no_longer_than(10), pytest.raises(StorageFull, match="audit log"):
        join(bench.site, bench.miner.invitation, bench.environment)
    assert bench.miner.requests == []  # An invitation is not used up for nothing.
    token = bench.miner.issue.token
    bench.miner.issue = bench.miner.issue.model_copy(update={"token": token + "x" * 200_000})
    with files_no_longer_than(150_000), pytest.raises(StorageFull, match="no room for a file"):
        join(bench.site, bench.miner.invitation, bench.environment)
    assert bench.miner.accepted is not None
    bench.miner.issue = bench.miner.issue.model_copy(update={"token": token})
    assert join(bench.site, bench.miner.invitation, bench.environment).token == stored(bench)
    assert [json.loads(line)["action"] for line in log.read_text().splitlines()] == ["join"]


@pytest.mark.parametrize("when", ["before", "after", "saving"])
def test_an_agent_killed_while_it_renews_its_token_still_has_a_good_one(
    bench, killed, monkeypatch, when
):
    old = stored(bench)

    def act():
        return rotate(bench.site, bench.environment)

    if when == "saving":
        killed_before_saving(bench, monkeypatch, killed, act)
    else:
        bench.miner.faults = [(when, killed())]
        with pytest.raises(killed):
            act()
    assert stored(bench) == old
    new = act().token
    assert stored(bench) == new != old
    assert bench.miner.good == [new]
    assert works(bench)


def test_a_token_is_renewed_by_a_command_and_noted_without_it(bench, command):
    old = stored(bench)
    ended = command("token", "rotate")
    assert (ended.exit_code, "new token of clinic-north" in ended.out) == (0, True), ended.err
    assert stored(bench) != old
    log = bench.state / "audit.jsonl"
    text = log.read_text()
    assert '"rotate_token"' in text
    assert old not in text
    assert stored(bench) not in text


def test_a_miner_that_is_not_ready_leaves_the_token_alone(bench):
    old = stored(bench)
    bench.miner.faults = [("before", 503)]
    with pytest.raises(Refused):
        rotate(bench.site, bench.environment)
    assert stored(bench) == old

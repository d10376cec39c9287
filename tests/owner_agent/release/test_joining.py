"""Joining: an invitation is not used up where its token has no place to go."""

from __future__ import annotations

import json

import pytest

from owner_agent.release.joining import join
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import StorageFull
from tests.full_disk import files_no_longer_than


def stored(bench) -> str:
    return TokenStore(bench.state).load("asia")


def test_a_token_that_found_no_room_is_fetched_again(bench):
    TokenStore(bench.state).path("asia").unlink()
    log = bench.state / "audit.jsonl"
    with files_no_longer_than(10), pytest.raises(StorageFull):
        join(bench.site, bench.miner.invitation, bench.environment)
    assert bench.miner.requests == []  # An invitation is not used up for nothing.
    assert join(bench.site, bench.miner.invitation, bench.environment).token == stored(bench)
    assert [json.loads(line)["action"] for line in log.read_text().splitlines()] == ["join"]

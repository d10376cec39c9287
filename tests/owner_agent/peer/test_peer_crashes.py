"""Sessions under faults: all owners end with one network or with none, whatever fails and when."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from owner_agent.release.ledger import Ledger
from owner_agent.state.environment import WaitingTimes
from pramana_core.errors import PramanaError
from tests.owner_agent.peer.conftest import HOLDINGS, STRUCTURE, World, no_threads_left

TASK = {"kind": "parameters", "structure": STRUCTURE}
FAULTS = ("none", "disturbed", "refused", "answer lost", "gone", "killed", "interrupt")


class Sessions(RuleBasedStateMachine):
    """Three owners, and sessions of which one request of one owner meets a fault."""

    folders: Path

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.world = World(self.root)
        self.sessions = 0
        self.fetched = 0
        self.hidden: set[tuple[str, str]] = set()

    @initialize()
    def start(self) -> None:
        for owner in HOLDINGS:
            shutil.copytree(self.folders / owner, self.world.folder(owner))
            self.world.told[owner] = []
        self.world.open()

    @rule(
        owner=st.sampled_from(tuple(HOLDINGS)),
        at=st.integers(0, 9),
        fault=st.sampled_from(FAULTS),
    )
    def session(self, owner: str, at: int, fault: str) -> None:
        """Run a session in which a request to an owner fails, and let its time be over."""
        world, asked = self.world, [0]
        hit = {"refused": range(at, at + 2), "gone": range(at, 99), "killed": range(at, 99)}
        hit["disturbed"] = range(at, at + 1)

        def bend(receiver: str, request: httpx.Request) -> BaseException | None:
            if receiver != owner:
                return None
            asked[0] += 1
            # Ctrl-C reaches the command, and not the threads in which columns are fetched.
            if fault == "interrupt" and asked[0] - 1 >= at and "/parts/" not in request.url.path:
                raise KeyboardInterrupt
            failed = asked[0] - 1 in hit.get(fault, ())
            return httpx.ConnectError("refused") if failed else None

        def lose(receiver: str, request: httpx.Request, answer: httpx.Response) -> Any:
            if fault == "answer lost" and receiver == owner and asked[0] - 1 == at:
                raise httpx.ReadError("lost", request=request)
            return answer

        session = f"{self.sessions:032x}"
        self.sessions += 1
        world.wire.bend, world.wire.bend_answer = bend, lose
        written = None
        try:
            written = world.run(world.proposal(TASK, session=session))
        except (PramanaError, KeyboardInterrupt):
            assert fault not in ("none", "disturbed")
        world.wire.bend = world.wire.bend_answer = None
        assert no_threads_left()
        if fault == "killed":
            world.open()
        world.later(60 + WaitingTimes.grace + 1)
        for participant in world.participants.values():
            participant.sweep()
        # What a killed owner had made out of sight goes when it next makes files.
        if fault == "killed":
            self.hidden.add((owner, f".unfinished-{session}"))
        found = {name: self.result(name, session) for name in HOLDINGS}
        # Who was killed without the proof of what all agreed to is named, and given the files.
        wanted = [name for name in HOLDINGS if fault != "killed" or name == "north"]
        assert all(found[name] == found[wanted[0]] for name in wanted)
        assert all(not files or files == found["north"] for files in found.values())
        assert bool(found["north"]) == (written is not None)
        self.require_written_down()

    def result(self, owner: str, session: str) -> dict[str, bytes]:
        """Return an owner's files of a session, by their names."""
        found = self.world.results(owner).items()
        hidden = {path.split("/")[0] for path, _ in found if path.startswith(".unfinished-")}
        assert {(owner, folder) for folder in hidden} <= self.hidden
        return {path: content for path, content in found if path.startswith(session)}

    def require_written_down(self) -> None:
        """Check that whatever left is in its sender's ledger."""
        sent = self.world.wire.sent[self.fetched :]
        self.fetched = len(self.world.wire.sent)
        for one in sent:
            if "/parts/" in one.line and one.status == 200:
                session = one.line.split("/")[3]
                lines = Ledger(self.world.folder(one.receiver) / ".pramana").entries()
                assert any(line.release_id == session and line.draws for line in lines)

    def teardown(self) -> None:
        assert no_threads_left()
        self.world.wire.close_when_quiet()
        self.world.stack.close()
        shutil.rmtree(self.root)


@pytest.mark.slow
def test_all_owners_end_with_one_network_or_none(folders: Path) -> None:
    class Here(Sessions):
        pass

    Here.folders = folders
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=8,
            stateful_step_count=5,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

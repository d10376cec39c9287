"""Nothing on the wire, in files, messages or logs holds a record id, a key, or a true column."""

import contextlib
import logging

import numpy as np
import pytest

from owner_agent.cli.sessions_shown import peer_sections
from owner_agent.release.ledger import Ledger
from owner_agent.state.keys import KeyStore
from pramana_core.errors import PramanaError
from pramana_core.report.terminal import print_sections
from pramana_core.terminal import console
from tests.owner_agent.peer.conftest import pseudonym


def traces(world, codes):
    """Every form of a secret: ids, keys, and sensitive columns as they lie in memory."""
    texts = [f"Zq{i:04d}Person".encode() for i in range(2000)]
    for owner in world.told:
        state = world.folder(owner) / ".pramana"
        for name in ("draw", "linkage"):
            key = KeyStore(state).read(name)
            texts += [key, key.hex().encode()]
        pem = (state / "keys" / "identity.key").read_bytes()
        texts.append(pem.splitlines()[1])
    order = np.argsort([pseudonym(i) for i in range(len(codes["A"]))])
    for name in ("A", "B", "D"):
        for column in (codes[name], codes[name][order]):
            texts.append(column[:64].astype(np.uint8).tobytes())
    return texts + [text.hex().encode() for text in texts if len(text) < 40]


def places(world, caplog, capsys):
    """Everything that others could see, and what this owner's people read."""
    found = {}
    for number, sent in enumerate(world.wire.sent):
        found[f"request {number}"] = sent.line.encode() + repr(sent.headers).encode() + sent.body
        found[f"answer {number}"] = sent.answer
    for owner, lines in world.told.items():
        found[f"told {owner}"] = "\n".join(lines).encode()
        for path, content in world.results(owner).items():
            found[f"{owner}/{path}"] = content
        state = world.folder(owner) / ".pramana"
        for path in state.rglob("*"):
            if path.is_file() and path.parent.name != "keys":
                found[str(path)] = path.read_bytes()
        print_sections(peer_sections(Ledger(state).entries()), console(), console())
    found["log"] = caplog.text.encode()
    found["shown"] = capsys.readouterr().out.encode()
    return found


def assert_no_trace(world, codes, caplog, capsys):
    secrets = traces(world, codes)
    found = places(world, caplog, capsys)
    assert len(found) > 40
    for place, content in found.items():
        assert not [secret for secret in secrets if secret in content], f"a secret is in {place}"


@pytest.fixture
def generous(closed_world):
    """Owners that share any number of tables."""
    for owner in closed_world.told:
        closed_world.decide(owner, "groupings = 9")
    closed_world.open()
    return closed_world


@pytest.fixture
def tasks(parameters_task):
    return [
        parameters_task,
        {"kind": "structure", "order": ["A", "B", "C", "D", "E"], "draws": 5},
        {"kind": "parameters", "structure": {"A": [], "B": [], "C": [], "D": [], "E": ["C", "D"]}},
    ]


@pytest.mark.slow
def test_sessions_of_every_kind_and_one_that_fails(generous, codes, tasks, caplog, capsys):
    world = generous
    caplog.set_level(logging.DEBUG)
    for number, task in enumerate(tasks):
        world.run(world.proposal(task, session=f"{number}" * 32))
    world.wire.bend_answer = lambda receiver, request, response: (
        type(response)(200, content=response.content[:-1])
        if "/parts/" in request.url.path
        else response
    )
    with contextlib.suppress(PramanaError):
        world.run(world.proposal(tasks[0], session="e" * 32))
    assert any("ended without" in line for line in world.told["north"])
    assert_no_trace(world, codes, caplog, capsys)


@pytest.mark.slow
def test_a_trace_would_be_found(world, codes, parameters_task, caplog, capsys):
    """The control: a stray file with a record id fails the search."""
    world.run(world.proposal(parameters_task))
    (world.folder("south") / "models" / "stray.log").write_bytes(b"... Zq0007Person ...")
    with pytest.raises(AssertionError, match=r"stray\.log"):
        assert_no_trace(world, codes, caplog, capsys)


@pytest.mark.slow
def test_a_true_column_would_be_found(generous, codes, tasks, caplog, capsys):
    """The control: C is not sensitive and leaves as it is; were it a secret, it would be found."""
    world = generous
    for number in (0, 2):
        world.run(world.proposal(tasks[number], session=f"{number}" * 32))
    with pytest.raises(AssertionError, match="a secret is in answer"):
        assert_no_trace(world, {**codes, "A": codes["C"]}, caplog, capsys)

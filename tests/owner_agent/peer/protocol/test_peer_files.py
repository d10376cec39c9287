"""The [peer] section, the session file, and the commands' own words."""

import json
import re
import sys
from typing import get_args

import pytest

from owner_agent.cli.main import build
from owner_agent.peer.protocol.session_file import load_session_file, proposal_of
from owner_agent.peer.protocol.tasks import TaskMessage
from owner_agent.peer.session_results import stage
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import ConfigError
from pramana_core.terminal import run
from tests.places import ROOT

PEER = """
[peer]
study = "asia"
listen = "[::1]:8201"
[[peer.known]]
name = "south"
certificate = "south.pem"
url = "https://south.example.org:8200"
"""


def write(tmp_path, section):
    path = tmp_path / "site.toml"
    path.write_text(
        'owner = "north"\ntable = "t.csv"\nrecord_id = "id"\n'
        '[[variables]]\nname = "x"\ncategories = ["0", "1"]\nsensitive = false\n' + section
    )
    return path


def test_the_peer_section_and_its_defaults(tmp_path):
    peer = load_site(write(tmp_path, PEER)).peer
    assert peer.address == ("::1", 8201)
    assert (peer.smallest_count, peer.results) == (5, "models")
    plain = load_site(write(tmp_path, PEER.replace('listen = "[::1]:8201"', ""))).peer
    assert plain.address == ("127.0.0.1", 8200)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("https://south", "http://south", "not an https address"),
        (":8200", ":8200/x", "a host and a port only"),
        ('name = "south"', 'name = "north"', "names 'north', the owner of this file"),
        ("[[peer.known]]", "more = 1\n[[peer.known]]", "unknown key peer.more"),
        ("[::1]:8201", "nowhere", "peer.listen"),
        ('study = "asia"', 'study = "asia"\nsmallest_count = 0', "peer.smallest_count"),
        ('study = "asia"', 'study = "asia"\nsend = "all"', "peer.send"),
        ('certificate = "south.pem"', "", "missing key peer.known"),
        (PEER[PEER.index("[[peer") :], PEER[PEER.index("[[peer") :] * 2, "two known peers"),
    ],
)
def test_mistakes_in_the_peer_section_are_named(tmp_path, old, new, match):
    assert old in PEER
    with pytest.raises(ConfigError, match=re.escape(match)):
        load_site(write(tmp_path, PEER.replace(old, new)))


def test_a_site_without_the_section_takes_no_part(tmp_path):
    with pytest.raises(ConfigError, match="no section"):
        _ = load_site(write(tmp_path, "")).peer


def session_file(tmp_path, text):
    path = tmp_path / "peers.toml"
    path.write_text(text)
    return path


TASK = '[task]\nkind = "parameters"\n[task.structure]\nx = []\n'


def test_a_session_file_becomes_a_proposal(tmp_path):
    site = load_site(write(tmp_path, PEER))
    made = proposal_of(load_session_file(session_file(tmp_path, TASK)), site, bytes)
    assert made.participants == ["north", "south"]
    assert (made.initiator, made.study, made.seconds) == ("north", "asia", 600)
    assert made.session == "0" * 32
    named = 'participants = ["south", "north"]\nseconds = 9\n' + TASK
    made = proposal_of(load_session_file(session_file(tmp_path, named)), site, bytes)
    assert (made.participants, made.seconds) == (["north", "south"], 9)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "missing key task"),
        ("more = 1\n" + TASK, "unknown key more"),
        ("seconds = 0\n" + TASK, "seconds"),
        ('[task]\nkind = "tree"\n', "task"),
        ('[task]\nkind = "structure"\norder = []\n', "order"),
        ("participants = 3\n" + TASK, "participants"),
        ("x =", "is not valid TOML"),
    ],
)
def test_mistakes_in_a_session_file_are_named(tmp_path, text, match):
    with pytest.raises(ConfigError, match=match):
        load_session_file(session_file(tmp_path, text))


def test_participants_that_are_no_different_owners(tmp_path):
    site = load_site(write(tmp_path, PEER))
    for names in ('["south", "south"]', '["north"]'):
        file = load_session_file(session_file(tmp_path, f"participants = {names}\n{TASK}"))
        with pytest.raises(ConfigError):
            proposal_of(file, site, bytes)


def test_a_result_appears_whole_or_not_at_all(tmp_path):
    results = tmp_path / "models"
    staged = stage(results, "s1", {"a": b"1", "b": b"2"})
    assert not (results / "s1").exists()
    staged.discard()
    assert list(results.iterdir()) == []
    (results / ".unfinished-old").mkdir()
    staged = stage(results, "s1", {"a": b"1"})
    assert staged.publish() == staged.publish() == results / "s1"
    staged.discard()
    assert [p.name for p in results.iterdir()] == ["s1"]
    assert (results / "s1" / "a").read_bytes() == b"1"


@pytest.fixture
def call(monkeypatch, capsys):
    def with_words(*words):
        monkeypatch.setattr(sys, "argv", ["owner-agent", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "100")
        with pytest.raises(SystemExit) as ended:
            run(build(Environment(attempts=1)))
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return with_words


def test_the_identity_command_shows_the_same_identity_each_time(tmp_path, call):
    site = write(tmp_path, PEER)
    target = tmp_path / "north.pem"
    code, out, err = call("keys", "identity", "--certificate", target, "--site", site)
    assert code == 0, err
    assert target.read_bytes().startswith(b"-----BEGIN CERTIFICATE-----")
    told = json.loads(call("keys", "identity", "--json", "--site", site)[1])
    assert told["owner"] == "north"
    assert told["fingerprint"] in out
    assert call("keys", "identity", "--certificate", target, "--site", site)[0] == 0
    target.write_text("something else")
    code, _, err = call("keys", "identity", "--certificate", target, "--site", site)
    assert (code, target.read_text()) == (2, "something else")
    assert "option-invalid" in err


@pytest.mark.parametrize("words", [("peer",), ("learn", "--peers", "peers.toml")])
def test_commands_need_an_identity_and_known_certificates(tmp_path, call, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    session_file(tmp_path, TASK)
    site = write(tmp_path, PEER)
    code, _, err = call(*words, "--site", site)
    assert code == 3
    assert "keys identity" in err
    call("keys", "identity", "--site", site)
    code, _, err = call(*words, "--site", site)
    assert code == 2
    assert "certificate of 'south'" in err


@pytest.mark.slow
def test_an_address_that_is_taken(tmp_path, call):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        site = write(tmp_path, PEER.replace("[::1]:8201", f"127.0.0.1:{port}"))
        call("keys", "identity", "--site", site)
        other = tmp_path / "other"
        other.mkdir()
        text = site.read_text().replace('"north"', '"x"', 1)
        (other / "site.toml").write_text(text)
        call("keys", "identity", "--certificate", tmp_path / "south.pem",
             "--site", other / "site.toml")  # fmt: skip
        code, _, err = call("peer", "--site", site)
    assert code == 2
    assert f"port {port}" in err


PAGE = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", get_args(get_args(TaskMessage)[0]))
def test_every_key_of_a_task_is_described(kind):
    assert f'`"{kind.model_fields["kind"].default}"`' in PAGE
    for key in kind.model_fields:
        assert f"`task.{key}`" in PAGE, f"{key} is not described"

"""`--json` of every command: one document on standard output, nothing else, the same codes."""

from __future__ import annotations

import json

import pytest

from tests.pramana.client.world import STUDY, opened
from tests.shared.test_examples import CASES, PROGRAMS

COMMANDS = [
    f"{program} {words}"
    for program, words, command in CASES
    if any("--json" in one.opts for one in command.params)
]

SITE = ("--site", "absent.toml")
STORE = ("--data", "absent")

WRONG = {
    "owner-agent design": ("--gamma", "19", *SITE),
    "owner-agent publish": ("--yes", *SITE),
    "owner-agent learn": ("--peers", "absent.toml", *SITE),
    "owner-agent predict": ("absent.json", "absent.csv"),
    "miner-service study show": ("nursery", *STORE),
    "miner-service study plan show": ("nursery", *STORE),
    "pramana demo": ("--seed", "first"),
    "pramana reproduce": ("no-experiment",),
    "pramana study kinds": ("no-kind",),
    "pramana simulate": ("tree", "--table", "absent.csv", "--target", "ill", "--p", "0.1"),
    "pramana study run": ("decision-tree", "--target", "ill"),
    "pramana study watch": ("j-1",),
    "pramana study cancel": ("j-1",),
    "pramana study fetch": ("m-1",),
    "pramana study predict": ("m-1", "absent.csv"),
    "pramana study show": (),
    "pramana study jobs": (),
    "pramana study models": (),
}
"""What is typed after a command, and cannot be done; others lack an owner's site or a store."""


def typed(run, command, *more):
    """Run a command as it is called."""
    program, *words = command.split()
    return run(PROGRAMS[program][2], *words, *more)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_what_goes_wrong_is_told_elsewhere_with_the_same_code(run, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("ACCESS", "MINER", "STUDY", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"PRAMANA_{name}", raising=False)
    besides = SITE if command.startswith("owner-agent") else STORE
    words = WRONG.get(command, besides)
    plain, as_json = typed(run, command, *words), typed(run, command, *words, "--json")
    assert plain.returncode == as_json.returncode != 0
    assert as_json.stdout == ""
    assert as_json.stderr == plain.stderr != ""
    assert "Traceback" not in plain.stderr


TABLE = "id,ill,age\n" + "".join(
    f"P{i:03d},{'yes' if i % 3 else 'no'},{'old' if i % 2 else 'young'}\n" for i in range(240)
)
PUBLIC = {"ill": ["no", "yes"], "age": ["young", "old"]}
SIMULATED = ("--table", "people.csv", "--variables", "ill,age", "--p", "0.1", "--runs", "1")
NETWORK = """network people {}
variable ill { type discrete [ 2 ] { no, yes }; }
variable age { type discrete [ 2 ] { young, old }; }
probability ( ill ) { table 0.6, 0.4; }
probability ( age | ill ) { (no) 0.5, 0.5; (yes) 0.3, 0.7; }
"""

RIGHT = {
    "owner-agent check": (),
    "owner-agent plan": ("--no-report",),
    "owner-agent ledger": (),
    "owner-agent keys show": (),
    "miner-service study show": (STUDY, "--data", "miner-data"),
    "miner-service check": ("--data", "miner-data"),
    "pramana study kinds": (),
    "pramana simulate": ("rules", *SIMULATED, "--set", "minimum_support=0.2"),
}
"""What can be done without another process; `json.loads` reads the others in tests of their own."""


@pytest.fixture
def folder(run, tmp_path, monkeypatch):
    """A folder with a table, an owner's site and keys, a miner's store, and a network."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    (tmp_path / "people.bif").write_text(NETWORK)
    (tmp_path / "site.toml").write_text(
        'owner = "north"\ntable = "people.csv"\nrecord_id = "id"\n'
        + "".join(
            f'[[variables]]\nname = "{name}"\ncategories = {json.dumps(categories)}\n'
            'sensitive = true\nchannel = { kind = "symmetric", gamma = 5 }\n'
            for name, categories in PUBLIC.items()
        )
    )
    done = run("owner_agent", "keys", "create", "--linkage")
    assert done.returncode == 0, done.stderr
    with opened(tmp_path):
        pass
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("command", RIGHT)
def test_one_document_is_all_that_is_on_standard_output(run, command, folder):
    done = typed(run, command, *RIGHT[command], "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is not None
    assert command in COMMANDS

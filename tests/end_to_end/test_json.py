"""`--json` of every command: what goes wrong is on standard error, with the same exit codes."""

from __future__ import annotations

import pytest

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
    "miner-service doctor": ("--settings", "absent.toml", *STORE),
    "miner-service study show": ("nursery", *STORE),
    "miner-service study plan show": ("nursery", *STORE),
    "pramana demo": ("--seed", "first"),
    "pramana reproduce": ("no-experiment",),
    "pramana study kinds": ("no-kind",),
    "pramana simulate": ("decision-tree", "--table", "absent.csv", "--target", "ill", "--p", "0.1"),
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

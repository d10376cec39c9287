"""Every command of every program: its help has an example that can be typed, and exit codes."""

import subprocess
import sys

import pytest
import typer

import miner_service.cli.main as miner
import owner_agent.cli.main as owner
import pramana.cli as face
from owner_agent.state.environment import Environment
from tests.places import ROOT

PROGRAMS = {
    "owner-agent": (owner.build(Environment()), owner.EXAMPLES, "owner_agent"),
    "miner-service": (miner.app, miner.EXAMPLES, "miner_service"),
    "pramana": (face.app, face.EXAMPLES, "pramana"),
}


def commands(group, words=()):
    """Yield all commands with their words, groups as well."""
    yield words, group
    for name, inner in getattr(group, "commands", {}).items():
        yield from commands(inner, (*words, name))


CASES = [
    (program, " ".join(words), command)
    for program, (app, _, _) in PROGRAMS.items()
    for words, command in commands(typer.main.get_command(app))
]


@pytest.mark.parametrize(
    ("program", "words", "command"), CASES, ids=[f"{p} {w}" for p, w, _ in CASES]
)
def test_every_help_ends_with_an_example_and_the_exit_codes(program, words, command):
    assert f"Example: {program} {words}" in command.epilog
    assert "Exit codes: 0 done;" in command.epilog
    if hasattr(command, "commands"):
        return
    typed = PROGRAMS[program][1][words].removeprefix(words).split()
    known = {option: p for p in command.params for option in (*p.opts, *p.secondary_opts)}
    options = [word for word in typed if word.startswith("--")]
    assert set(options) <= set(known)
    values = sum(not known[option].is_flag for option in options)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    given = len(typed) - len(options) - values
    assert sum(p.required for p in arguments) <= given
    assert given <= len(arguments) or any(p.nargs == -1 for p in arguments)
    required = {p.opts[0] for p in command.params if p.required and p not in arguments}
    assert required <= set(options)


def typed(program, *words):
    """Run a program as a person would."""
    return subprocess.run(
        [sys.executable, "-m", PROGRAMS[program][2], *words],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_version_help_completion_and_what_was_meant(program):
    ended = typed(program, "--version")
    assert (ended.returncode, ended.stdout.startswith("pramana ")) == (0, True)
    shown = typed(program, "--help")
    assert shown.returncode == 0
    for said in ("--install-completion", "--version", "Example: ", "Exit codes: 0 done; 1"):
        assert said in shown.stdout
    wrong = {"owner-agent": "chek", "miner-service": "studdy", "pramana": "simulat"}[program]
    meant = typed(program, wrong)
    assert meant.returncode == 2
    assert "Did you mean" in meant.stderr

"""The page about running a miner: its commands exist, and tests run its steps."""

from __future__ import annotations

import re
import shlex

import pytest
import typer
from typer.core import TyperGroup

from miner_service.cli.main import app
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from tests.places import ROOT
from tests.test_threat_model import NAMED, names_of_tests

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
PROGRAMS = {
    "miner-service": typer.main.get_command(app),
    "owner-agent": typer.main.get_command(build(Environment())),
}
PROGRAM = rf"(?:{'|'.join(PROGRAMS)}) "
COMMANDS = [
    *re.findall(rf"(?m)^ {{4}}(?:ExecStart=\S*/)?({PROGRAM}.+)$", PAGE),
    *re.findall(rf"`({PROGRAM}[^`]+)`", PAGE),
]
STEP = re.compile(r"(?m)^\d\. ")
RUN = re.compile(rf"{NAMED.pattern}|`make compose`")


def parse(line: str) -> None:
    """Take a line apart as its program does; fail where it would refuse it."""
    program, *words = shlex.split(line)
    command = PROGRAMS[program]
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    command.make_context(program, words)


def untested(page: str) -> list[str]:
    """Return the headings of sections with steps, and the rows of tables, that name no test."""
    sections = re.split(r"(?m)^(?=##)", page)
    steps = [s.split("\n")[0] for s in sections if STEP.search(s) and not RUN.search(s)]
    tables = re.findall(r"(?m)^\|.*\| tested by \|\n\| ---.*\n((?:\|.*\n)+)", page)
    rows = [row for table in tables for row in table.splitlines()]
    return steps + [row for row in rows if not NAMED.search(row.split("|")[-2])]


@pytest.mark.parametrize(
    "line",
    [
        "miner-service monitor-token",
        "miner-service study delete --yes",
        "miner-service worker --workers 0",
        "owner-agent withdraw",
    ],
)
def test_control_a_line_that_is_no_command_is_found(line: str):
    with pytest.raises(Exception, match="Missing parameter|greater than or equal"):
        parse(line)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_one(line: str):
    parse(line)


def test_the_page_has_commands_and_the_tests_that_it_names_are_there():
    assert len(COMMANDS) >= 30
    named = set(NAMED.findall(PAGE))
    assert len(named) > 10
    assert named <= names_of_tests()


def test_steps_and_rows_name_the_test_that_runs_them():
    assert len(STEP.findall(PAGE)) > 30
    assert untested(PAGE) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| `test_the_admin_token_is_shown_once` |", "| |"),
        ("Run by `test_others_go_on_without_an_owner_that_leaves`.", ""),
    ],
)
def test_control_a_step_or_row_without_a_test_is_found(old: str, new: str):
    assert len(untested(PAGE.replace(old, new))) == 1


def test_the_page_has_at_most_3000_words():
    assert len(PAGE.split()) <= 3000

"""The page about running a miner: its commands and tests are there."""

from __future__ import annotations

import re
import shlex

import pytest
import typer
from typer.core import TyperGroup

from miner_service.cli.main import app
from tests.places import ROOT
from tests.test_threat_model import NAMED, names_of_tests

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^ {4}(?:\S*='[^']*' )?(miner-service .+)$", PAGE)


def parse(line: str) -> None:
    """Take a line apart as `miner-service` does; fail where it would refuse it."""
    words = shlex.split(line)
    assert words.pop(0) == "miner-service"
    command = typer.main.get_command(app)
    while isinstance(command, TyperGroup):
        command = command.commands[words.pop(0)]
    command.make_context("miner-service", words)


@pytest.mark.parametrize(
    "line",
    [
        "miner-service monitor-token",
        "miner-service study delete --yes",
        "miner-service worker --workers 0",
    ],
)
def test_control_a_line_that_is_no_command_is_found(line: str):
    with pytest.raises(Exception, match="Missing parameter|greater than or equal"):
        parse(line)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_one(line: str):
    parse(line)


def test_the_page_has_commands_and_the_tests_that_it_names_are_there():
    assert len(COMMANDS) >= 8
    named = set(NAMED.findall(PAGE))
    assert len(named) > 10
    assert named <= names_of_tests()

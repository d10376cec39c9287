"""The page about running a miner: its commands and tests are there."""

from __future__ import annotations

import re
import shlex

import click
import pytest
import typer

from miner_service.cli.main import app
from tests.places import ROOT
from tests.test_threat_model import NAMED, names_of_tests

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^ {4}(?:\S*='[^']*' )?(miner-service .+)$", PAGE)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_one(line: str):
    words = shlex.split(line)[1:]
    command = typer.main.get_command(app)
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_context("miner-service", words)


def test_the_page_has_commands_and_the_tests_that_it_names_are_there():
    assert len(COMMANDS) >= 8
    named = set(NAMED.findall(PAGE))
    assert len(named) > 10
    assert named <= names_of_tests()

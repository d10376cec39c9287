"""Every command named in a message, docstring or page exists, with the options named with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import pramana as pm
from miner_service.cli.main import app as miner
from owner_agent.cli.main import build
from owner_agent.state.environment import Environment
from pramana.cli import app as face
from tests.places import ROOT

PROGRAMS: dict[str, Any] = {
    "owner-agent": typer.main.get_command(build(Environment())),
    "miner-service": typer.main.get_command(miner),
    "pramana": typer.main.get_command(face),
}
ANYWHERE = re.compile(r"(?<![\w./-])(owner-agent|miner-service)( [^`<\"\n]*)?")
MARKED = re.compile(r"(?:`|<code>|: )(pramana)( [^`<\"\n]*)")
PLACES = {
    **dict.fromkeys(("miner_service", "owner_agent", "pramana", "shared"), ("*.py", "*.j2")),
    **dict.fromkeys(("docs", "deploy", "examples"), ("*.md", "*.py", "*.sh")),
}


def files(place: str) -> list[Path]:
    found = (path for ending in PLACES[place] for path in sorted((ROOT / place).rglob(ending)))
    return [path for path in found if path.name != "removed.md"]


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file: of Python its strings, with X for what is filled in."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield source
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "X") for part in node.values)
            yield "".join(part if isinstance(part, str) else "X" for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def wrong(program: str, words: list[str]) -> str | None:
    """Return what is wrong with a command line as it is named; None if there is such a command."""
    command, path = PROGRAMS[program], program
    while words and hasattr(command, "commands"):
        word = words[0].strip(".,:;()'")
        if word.startswith("-") or word.isupper() or not word or word == "X":
            return None  # a placeholder or an option of the group
        if word not in command.commands:
            return f"there is no {path} {word}"
        command, path, words = command.commands[word], f"{path} {word}", words[1:]
    known = {o for one in command.params for o in (*one.opts, *one.secondary_opts)} | {"--help"}
    named = {w for word in words if (w := re.sub(r"[^a-z-].*", "", word)).startswith("--")}
    return f"{path} has no {sorted(named - known)}" if named - known else None


def named_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    for program, rest in (*ANYWHERE.findall(text), *MARKED.findall(text)):
        # A line ends with its sentence, or where another command begins.
        line = re.split(r"(?<=[\w)])[.;](?:\s|$)|, (?:and|then|or) ", " ".join(rest.split()))[0]
        yield program, line.split()


def helps(command: Any) -> Iterator[str]:
    """Yield the help texts of a command and its options, and of its commands."""
    yield from (text for one in (command, *command.params) if (text := getattr(one, "help", None)))
    for inside in getattr(command, "commands", {}).values():
        yield from helps(inside)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_loses_no_bracket_as_markup(program):
    assert [text for text in helps(PROGRAMS[program]) if re.search(r"(?<!\\)\[", text)] == []


def test_help_shows_brackets():
    shown = CliRunner().invoke(build(Environment()), ["mask", "--help"]).output
    assert "no section [mask], give" in " ".join(shown.split())


@pytest.mark.parametrize("place", PLACES)
def test_commands_exist(place):
    found = {
        (str(path.relative_to(ROOT)), fault)
        for path in files(place)
        for text in texts(path)
        for one in named_commands(text)
        if (fault := wrong(*one)) is not None
    }
    assert found == set()


@pytest.mark.parametrize("place", PLACES)
def test_names_of_the_face_exist(place):
    named = {
        (str(path.relative_to(ROOT)), name)
        for path in files(place)
        for text in texts(path)
        for name in re.findall(r"\bpm\.(\w+)", text)
    }
    assert {one for one in named if not hasattr(pm, one[1])} == set()


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Invite them: `miner-service invite --study s`.", 1),
        ("Run `owner-agent publish --now` or `owner-agent plan`.", 1),
        ("Next: pramana study start KIND", 1),
        ("`pramana study run KIND --wait` and `owner-agent join INVITATION --linkage FILE`", 0),
        ("miner-service study plan set s plan.json. It is kept.", 0),
    ],
)
def test_control(text, commands):
    assert sum(wrong(*one) is not None for one in named_commands(text)) == commands

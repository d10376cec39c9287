"""No setting, file, message or option takes a number that is not one: `nan` or `inf`."""

from __future__ import annotations

import inspect
import math
import pkgutil
from dataclasses import fields, replace
from importlib import import_module

import pytest
from pydantic import BaseModel

import miner_service
import owner_agent
import pramana_core
from miner_service.settings import SECTIONS, read_settings
from pramana_core.errors import ConfigError, OptionError
from tests.shared.test_examples import PROGRAMS

NUMBERS = [
    (section, field.name)
    for section, kind in SECTIONS.items()
    for field in fields(kind)
    if type(getattr(kind(), field.name)) in (int, float)
]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(("section", "name"), NUMBERS)
def test_no_setting_of_the_miner_takes_it(section, name, value):
    with pytest.raises(OptionError) as refused:
        replace(SECTIONS[section](), **{name: value})
    assert refused.value.where == name


@pytest.mark.parametrize("text", ["nan", "inf", "+inf", "-nan"])
def test_no_settings_file_takes_it(text, tmp_path):
    file = tmp_path / "miner.toml"
    for section, name in NUMBERS:
        file.write_text(f"[{section}]\n{name} = {text}\n")
        with pytest.raises(ConfigError) as refused:
            read_settings(file)
        assert refused.value.where == f"{section}.{name}"


def models() -> list[type[BaseModel]]:
    """Every model of site files, session files and messages, also those that are made."""
    for package in (pramana_core, owner_agent, miner_service):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # Alembic alone runs the environment of its upgrades.
            if not module.name.endswith(("__main__", "revisions.env")):
                import_module(module.name)
    found, names = [BaseModel], ("pramana_core.", "owner_agent.", "miner_service.")
    for one in found:
        found += one.__subclasses__()
    return [one for one in dict.fromkeys(found) if one.__module__.startswith(names)]


def test_no_model_takes_it():
    found = models()
    assert len(found) > 100
    numeric = [
        one
        for one in found
        if any("float" in str(field.annotation) for field in one.model_fields.values())
    ]
    assert len(numeric) > 50
    assert [one for one in numeric if one.model_config.get("allow_inf_nan") is not False] == []


def callbacks(app):
    """Yield what the commands of an application call."""
    yield from (command.callback for command in app.registered_commands)
    for group in app.registered_groups:
        yield from callbacks(group.typer_instance)


OPTIONS = [
    (call, name)
    for app, _, _ in PROGRAMS.values()
    for call in callbacks(app)
    for name, parameter in inspect.signature(call).parameters.items()
    if "float" in str(parameter.annotation)
]


@pytest.mark.parametrize(("call", "name"), OPTIONS, ids=[f"{c.__name__} {n}" for c, n in OPTIONS])
def test_no_option_of_a_command_takes_it(call, name):
    for value in (math.nan, math.inf, [1.0, math.nan], (-math.inf, 1.0)):
        with pytest.raises(OptionError) as refused:
            call(**{name: value})
        assert refused.value.where == f"--{name.replace('_', '-')}"


def test_control_there_are_such_options():
    assert len(OPTIONS) > 5

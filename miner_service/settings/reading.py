"""Reads the sections of the settings from a file: `miner.toml`.

What is not in the file is as it is without one. Keys that no section has are refused by name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

from miner_service.settings.settings import (
    JobSettings,
    Limits,
    Quotas,
    StorageSettings,
    TokenSettings,
    WebSettings,
)
from pramana_core.alike import alike
from pramana_core.errors import ConfigError, OptionError

SECTIONS: Mapping[str, type] = {
    "limits": Limits,
    "quotas": Quotas,
    "tokens": TokenSettings,
    "jobs": JobSettings,
    "web": WebSettings,
    "storage": StorageSettings,
}
"""The sections of the file, by the names that the fields of `Settings` have."""

_KINDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    bool: "true or false",
}


def read_settings(file: Path) -> dict[str, Any]:
    """Return the sections that a file has, each as the settings take it.

    Paths in it are read as seen from the file's own folder.

    Raises:
        ConfigError: it cannot be read, has a key that is not known, or a value that cannot be.
    """
    document = _load(file)
    _require_known(file, "section", document, SECTIONS)
    return {name: _section(file, name, told) for name, told in document.items()}


def _load(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"The settings {file} cannot be read: {error.strerror}.", where=str(file)
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # What cannot be parsed may hold a password: only the place is told.
        place = str(error).rpartition("(")[2].rstrip(")")
        raise ConfigError(
            f"The settings {file} are not TOML ({place}).",
            where=str(file),
            remedy="Write sections in brackets, and below each lines like `workers = 2`.",
        ) from None


def _section(file: Path, name: str, told: Any) -> Any:
    kind = SECTIONS[name]
    if not isinstance(told, dict):
        raise ConfigError(
            f"In the settings {file}, {name} is not a section.",
            where=name,
            remedy=f"Write [{name}] on a line of its own, and its settings below.",
        )
    _require_known(file, f"setting of [{name}]", told, [field.name for field in fields(kind)])
    types = get_type_hints(kind)
    values = {key: _value(file, f"{name}.{key}", types[key], told[key]) for key in told}
    try:
        return kind(**values)
    except OptionError as error:
        raise ConfigError(
            f"In the settings {file}: {error.message}",
            where=f"{name}.{error.where}",
            remedy=error.remedy,
        ) from error


def _value(file: Path, where: str, kind: Any, told: Any) -> Any:
    """Return a value of the type that its setting has."""
    (kind,) = [one for one in _alternatives(kind) if one is not type(None)]
    if kind is float and type(told) is int:
        return float(told)
    if kind is Path and isinstance(told, str):
        return file.parent / told
    # Exactly so: True is an int elsewhere.
    if type(told) is not kind:
        raise ConfigError(
            f"In the settings {file}, {where} is not {_KINDS[kind]}.",
            where=where,
            remedy=f"Give {_KINDS[kind]}.",
        )
    return told


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _require_known(file: Path, what: str, told: Iterable[str], known: Iterable[str]) -> None:
    for name in told:
        if name not in known:
            near = alike(name, known)
            meant = f" Did you mean {near!r}?" if near else ""
            raise ConfigError(
                f"The settings {file} have {name!r}, which is no {what}.{meant}",
                where=name,
                remedy=f"There are {', '.join(known)}.",
            )

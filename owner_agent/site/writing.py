"""Writing site files, and sections of them, in a readable layout."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Item, Table

from owner_agent.site.site import Site, site_from
from owner_agent.state.private_files import replacing
from pramana_core.errors import ConfigError, OptionError
from pramana_core.text_files import read_text

WIDTH = 100


def toml(content: Mapping[str, Any], *comments: str) -> str:
    """Return TOML text with the given content, after comments; short values are written inline."""
    document = tomlkit.document()
    for comment in comments:
        document.add(tomlkit.comment(comment))
    for key, value in content.items():
        if isinstance(value, Mapping):
            document.add(key, _section(value))
        elif isinstance(value, list | tuple) and any(isinstance(entry, Mapping) for entry in value):
            sections = tomlkit.aot()
            for entry in value:
                sections.append(_section(entry))
            document.add(key, sections)
        else:
            document.add(key, _value(key, value))
    return document.as_string().rstrip() + "\n"


def _section(keys: Mapping[str, Any]) -> Table:
    section = tomlkit.table()
    for key, value in keys.items():
        section.add(key, _value(key, value))
    return section


def _value(key: str, value: Any) -> Item:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(value)
        return inline if _fits(key, inline) else _section(value)
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(value)
        array.multiline(not _fits(key, array))
        return array
    plain: Item = tomlkit.item(value)
    return plain


def _fits(key: str, item: Item) -> bool:
    return len(f"{key} = {item.as_string()}") <= WIDTH


@dataclass(frozen=True)
class ExtendedSite:
    """A site file with changed sections, which is validated but not written yet."""

    path: Path
    text: str
    site: Site
    before: str

    @classmethod
    def of(
        cls,
        path: Path,
        sections: Mapping[str, Any],
        variables: Mapping[str, Mapping[str, Any] | None] | None = None,
    ) -> ExtendedSite:
        """Replace or add sections of a site file, without changing other text.

        `variables` maps the name of a variable to its changed keys, in which None removes a key, or
        to None to remove the variable. Empty sections are removed. Raises ConfigError if the result
        is invalid.
        """
        before, changes = read_text(path), dict(variables or {})
        kept = "".join(_kept(before, sections, changes)).rstrip() + "\n"
        added = {name: keys for name, keys in sections.items() if keys}
        text = f"{kept}\n{toml(added)}" if added else kept
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            changes |= dict.fromkeys(sections)
        if changes:
            raise ConfigError(
                f"The entries of {', '.join(changes)} in {path} were not found.",
                where=str(path),
                remedy="Write each entry under a separate header, [[variables]] or [section].",
            )
        return cls(path, text, site_from(content, path.resolve().parent, str(path)), before)

    @property
    def diff(self) -> str:
        """The changed lines, in the form of a unified diff."""
        old, new = self.before.splitlines(), self.text.splitlines()
        return "\n".join(difflib.unified_diff(old, new, "now", "then", n=1, lineterm=""))

    def write(self) -> None:
        """Replace the file atomically, and keep its access rights. Raises OptionError."""
        mode = self.path.stat().st_mode & 0o777
        try:
            with replacing(self.path.resolve()) as file:
                os.fchmod(file.fileno(), mode)
                file.write(self.text.encode())
        except OSError as error:
            raise OptionError(
                f"{self.path} cannot be written: {error.strerror}.", where="site"
            ) from None


_HEADER = re.compile(r"(?m)^(?:#.*\n)*\[\[?([\w-]+)\]\]?[ \t]*(?:#.*)?$")
"""Matches the header of a section, with the comments above it."""


def _kept(
    text: str, sections: Collection[str], variables: dict[str, Mapping[str, Any] | None]
) -> Iterator[str]:
    """Yield a site file's unchanged parts, and remove the sections found from `variables`."""
    found = list(_HEADER.finditer(text))
    ends = [header.start() for header in found] + [len(text)]
    yield text[: ends[0]]
    for header, end in zip(found, ends[1:], strict=True):
        part = text[header.start() : end]
        if header[1] in sections:
            continue
        if header[1] == "variables":
            document = tomlkit.parse(part)
            section: Any = document["variables"][0]
            if (keys := variables.pop(section["name"], {})) is None:
                continue
            for key, value in keys.items():
                section.pop(key, None)
                if value is not None:
                    section.add(key, _value(key, value))
            part = document.as_string().rstrip() + "\n\n" if keys else part
        yield part

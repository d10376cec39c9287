"""Site files, and parts of them, written as a person would."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Item, Table

from owner_agent.site.site import Site, site_from
from owner_agent.state.private_files import replacing
from pramana_core.errors import OptionError
from pramana_core.text_files import read_text

WIDTH = 100


def toml(content: Mapping[str, Any], *comments: str) -> str:
    """Return TOML that reads back as `content`, after comments; what fits stands in a line."""
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
    """A site file with further sections, which is valid and not written yet."""

    path: Path
    text: str
    site: Site

    @classmethod
    def of(cls, path: Path, sections: Mapping[str, Mapping[str, Any]]) -> ExtendedSite:
        """Add sections that a site file does not have. Raises ConfigError if they do not fit it."""
        before = read_text(path)
        text = f"{before.rstrip()}\n\n{toml(sections)}" if sections else before
        site = site_from(tomllib.loads(text), path.resolve().parent, str(path))
        return cls(path, text, site)

    def write(self) -> None:
        """Put it in the place of the file, with the rights that that had, whole or not at all."""
        mode = self.path.stat().st_mode & 0o777
        try:
            with replacing(self.path.resolve()) as file:
                os.fchmod(file.fileno(), mode)
                file.write(self.text.encode())
        except OSError as error:
            raise OptionError(
                f"{self.path} cannot be written: {error.strerror}.", where="site"
            ) from None

"""Site files, and parts of them, written as a person would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import Item, Table

WIDTH = 100


def toml(content: Mapping[str, Any], *comments: str) -> str:
    """Return TOML that reads back as `content`, with comments before it.

    What fits into a line is written in one: lists, and tables inside a section.
    """
    document = tomlkit.document()
    for comment in comments:
        document.add(tomlkit.comment(comment))
    for key, value in content.items():
        if isinstance(value, Mapping):
            document.add(key, _section(value))
        elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
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

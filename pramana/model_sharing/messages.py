"""Reading messages of shared trees in any form: objects, JSON as dicts or text, and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pramana.estimators.saved import FORMAT as MODEL_FORMAT
from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana.reporting.files import require_version
from pramana_core.errors import InputError, TableError
from pramana_core.learn.common.documents import faults, parse_json, write_json
from pramana_core.wire.release_kinds import SharedTreeMessage

FORMAT, KIND, VERSION = "pramana", "knowledge-model", 1

_FORMS = "a tree of pm.share_tree, or its message as a dict, JSON text or a file"


def written(content: SharedTreeMessage) -> str:
    """Return a message as the text of a file."""
    inner = content.model_dump(mode="json")
    return write_json({"format": FORMAT, "version": VERSION, "kind": KIND, "content": inner})


def contents_of(messages: Any) -> list[SharedTreeMessage]:
    """Return the messages in a list of trees in any form, or in a single tree.

    Raises InputError, TableError.
    """
    alone = isinstance(messages, str | bytes | Path | Mapping) or hasattr(messages, "content")
    given = [messages] if alone else messages
    if not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        raise InputError(
            f"messages must be a list of shared trees, not {shown(messages)}.", where="messages"
        )
    listed = list(given)
    if not listed:
        raise InputError("messages must contain at least one shared tree.", where="messages")
    return [_content_of(one, f"messages[{place}]") for place, one in enumerate(listed)]


def _content_of(given: Any, argument: str) -> SharedTreeMessage:
    for content in (given, getattr(given, "content", None)):
        if isinstance(content, SharedTreeMessage):
            return content
    if isinstance(given, Mapping):
        return _of_document(given, argument)
    if isinstance(given, Path) or (isinstance(given, str) and not given.lstrip().startswith("{")):
        source = f"{argument} {quoted([str(given)])}"
        try:
            text = Path(given).read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not the name of a file"
            raise TableError(f"{source} cannot be read ({why}).", where=argument) from None
        return read_message(text, source)
    if isinstance(given, str | bytes):
        return read_message(given, argument)
    raise InputError(f"{argument} must be {_FORMS}, not {shown(given)}.", where=argument)


def read_message(text: str | bytes, argument: str) -> SharedTreeMessage:
    """Return the message of JSON text. Raises InputError."""
    try:
        document = parse_json(text)
    except (ValueError, TypeError):
        raise InputError(f"{argument} is not JSON.", where=argument) from None
    if not isinstance(document, Mapping):
        raise InputError(
            f"{argument} must be {_FORMS}, but it contains other JSON.", where=argument
        )
    return _of_document(document, argument)


def _of_document(document: Mapping[str, Any], argument: str) -> SharedTreeMessage:
    if document.get("format") == MODEL_FORMAT:
        raise InputError(
            f"{argument} has a model learned from trees, not a shared tree; use pm.load.",
            where=argument,
        )
    if document.get("format") == FORMAT:
        require_version(document.get("version"), VERSION, Path(argument))
        if document.get("kind") != KIND:
            raise InputError(f"{argument} contains no shared tree.", where=argument)
        document = document.get("content") or {}
    elif isinstance(document.get("model"), Mapping):
        document = document["model"]
    try:
        return SharedTreeMessage.model_validate(dict(document))
    except ValidationError as error:
        raise InputError(
            f"{argument} is not a message of a shared tree: {faults(error)}.", where=argument
        ) from None

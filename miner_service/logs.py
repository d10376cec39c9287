"""The log of a process, on standard error: lines of text or JSON, with a time and a level.

A line is a short fixed text with values as fields (`extra`). It has no header, body, query or
token. Texts that come from people are quoted, so nobody can forge a line.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from enum import StrEnum

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "color_message"}
_REPEATED = 60.0
"""Minimum seconds between two lines about the same error of the event loop."""


class LogFormat(StrEnum):
    """The format of a log line."""

    TEXT = "text"
    JSON = "json"


def configure(form: str) -> None:
    """Send the log of this process to standard error, in the given form."""
    handler = logging.StreamHandler()
    handler.setFormatter(_json() if form == LogFormat.JSON else _Text())
    logging.root.addHandler(handler)
    logging.getLogger("miner_service").setLevel(logging.INFO)
    logging.getLogger("asyncio").addFilter(_OncePerMinute())


def _json() -> logging.Formatter:
    from pythonjsonlogger.json import JsonFormatter

    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s",
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp="time",
        # uvicorn repeats its message with colors.
        reserved_attrs=sorted(_STANDARD),
    )


class _Text(logging.Formatter):
    """Writes a record as text: time, level, logger, message, and the fields as name=value."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """Return the line, without a traceback."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = record.message if record.message.isprintable() else json.dumps(record.message)
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        shown = (f"{name}={_quoted(str(value))}" for name, value in fields.items())
        return " ".join((time, record.levelname, f"{record.name}:", message, *shown))


def _quoted(text: str) -> str:
    plain = text.isascii() and text.isprintable() and not set(text) & set(' "=\\')
    return text if plain and text else json.dumps(text)


class _OncePerMinute(logging.Filter):
    """Passes each error of the event loop, such as too many open files, at most once a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a log record; cut an operating system error's traceback."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        first = record.getMessage().partition("\n")[0]
        key = first.partition("(")[0], str(error)
        if record.created - self._last.get(key, 0.0) < _REPEATED:
            return False
        self._last[key] = record.created
        if isinstance(error, OSError):
            record.msg, record.args, record.exc_info = f"{first}: {error.strerror}", None, None
        return True

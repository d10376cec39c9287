"""The token that a miner knows its caller by, given or read from a file: no text ever has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from owner_agent.state.private_files import refuse_if_open_to_others
from pramana.frames.tables import shown
from pramana_core.errors import KeyFileError, OptionError

_TOKEN = re.compile(r"[A-Za-z0-9-]+\.[A-Za-z0-9_-]{16,}")
"""As miners issue them: an id, a full stop, and what is random."""


class Token:
    """A token, shown by nothing that prints this."""

    def __init__(self, text: str):
        self._text = text

    @property
    def text(self) -> str:
        """The token itself."""
        return self._text

    def __repr__(self) -> str:
        return "Token(hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyFileError("a token cannot be pickled, for it would be in the file.", where="token")


def token_from(token: object, token_file: object) -> Token:
    """Return the token that was given, one way or the other.

    Raises:
        OptionError: neither was given, or both, or what was given is no token.
        KeyFileError: the file is not there, may be read by others, or holds no token.
    """
    if token is not None and token_file is not None:
        raise OptionError(
            "token and token_file were both given, but only one of them may be.", where="token"
        )
    if token is None and token_file is None:
        raise OptionError(
            "token_file must name the file of your token for this miner, or token be the token"
            " itself; whoever runs the study issues one.",
            where="token_file",
        )
    return _given(token) if token_file is None else _read(token_file)


def _given(token: object) -> Token:
    if isinstance(token, Token):
        return token
    if not isinstance(token, str):
        wanted = "; pass the path of a file as token_file" if isinstance(token, Path) else ""
        raise OptionError(
            f"token must be a string, not {type(token).__name__}{wanted}.", where="token"
        )
    text = token.strip()
    if text.lower().startswith("bearer "):
        raise OptionError("token must be given without the word 'Bearer' before it.", where="token")
    if not _TOKEN.fullmatch(text):
        # Not quoted: it may be a token all the same, or another secret.
        raise OptionError(
            "token is not a token as miners issue them, such as 't-0f6a0c3d9b21.kX...'; pass the"
            " path of a file as token_file.",
            where="token",
        )
    return Token(text)


def _read(token_file: object) -> Token:
    if not isinstance(token_file, str | Path):
        raise OptionError(
            f"token_file must be the path of a file, not {shown(token_file)}.", where="token_file"
        )
    if _TOKEN.fullmatch(str(token_file).strip()) and not Path(token_file).exists():
        raise OptionError(
            "token_file must be the path of a file, not the token itself; pass that as token.",
            where="token_file",
        )
    path = Path(token_file).expanduser()
    if not path.is_file():
        what = "a folder" if path.is_dir() else "no file that is there"
        raise KeyFileError(
            f"token_file must be the file of your token, and {str(path)!r} is {what}.",
            where="token_file",
        )
    _require_private(path)
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        text = ""
    if not _TOKEN.fullmatch(text):
        raise KeyFileError(
            f"token_file must hold a token as miners issue them and nothing else, and {str(path)!r}"
            " does not.",
            where="token_file",
        )
    return Token(text)


def _require_private(path: Path) -> None:
    repair = f"chmod 600 {path}"
    try:
        refuse_if_open_to_others(path, repair)
    except KeyFileError as error:
        raise KeyFileError(
            f"token_file must be readable by nobody but you, and {str(path)!r} may be used by"
            f" others; run `{repair}`, and ask for another token if somebody may have read it.",
            where="token_file",
        ) from error

"""The way to a miner: its address, a token that no text has, and the studies that it may see."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from owner_agent.release.client import Calls
from owner_agent.state.private_files import refuse_if_open_to_others
from owner_agent.state.tls_files import TlsFiles
from pramana.client.line import MinerConnection, study_path
from pramana.client.study import Study
from pramana.frames.sentences import one_sentence, options_told
from pramana_core.alike import did_you_mean
from pramana_core.errors import KeyFileError, NotFound, OptionError, Unauthenticated
from pramana_core.text_files import read_text
from pramana_core.wire.privacy import AccessFile
from pramana_core.wire.privacy import Study as StudyMessage
from pramana_core.wire.services import error_of, require_address

if TYPE_CHECKING:
    import httpx
    import pandas as pd


_TOKEN = re.compile(r"[A-Za-z0-9-]+\.[A-Za-z0-9_-]{16,}")
"""As miners issue them: an id, a full stop, and what is random."""


def token_from(token: str | None, token_file: str | Path | None, url: str) -> str:
    """Return the token for a miner, given as text or in a private file. No message quotes it."""
    if (token is None) == (token_file is None):
        raise OptionError(
            "Give token_file, the file of your token for this miner, or the token itself, and not"
            " both; whoever runs the study issues one.",
            where="token_file",
        )
    if token_file is None:
        text = str(token).strip()
        if not _TOKEN.fullmatch(text):
            raise OptionError(
                "token is not a token as miners issue them, such as 't-0f6a0c3d9b21.kX...'; pass"
                " the path of a file as token_file.",
                where="token",
            )
        return text
    try:
        path = Path(token_file).expanduser()
        with one_sentence("token_file"):
            refuse_if_open_to_others(path, f"chmod 600 {path}")
        text = read_text(path).strip()
    except (OSError, ValueError, TypeError):
        text = ""  # a token in the place of a path is not quoted
    if text.startswith("{"):
        text = _in_access_file(text, url)
    if not _TOKEN.fullmatch(text):
        raise KeyFileError(
            "token_file must be the path of an access file, or of a file that holds a token as"
            " miners issue them and nothing else.",
            where="token_file",
        )
    return text


def _in_access_file(text: str, url: str) -> str:
    """Return the token of what `miner-service study analyst` wrote; nothing if it is not that."""
    try:
        file = AccessFile.model_validate_json(text)
    except ValueError:
        return ""
    require_same_miner(file, url)
    return file.token


def require_same_miner(file: AccessFile, url: str) -> None:
    """Refuse to send the token of an access file to another miner. Raises OptionError."""
    if file.miner.rstrip("/") != url.rstrip("/"):
        raise OptionError(
            f"The access file is for the miner at {file.miner}, and its token is sent to no other,"
            f" such as {url}.",
            where="miner",
            remedy="Take the miner's address from the file, or another miner's token.",
        )


@options_told
def connect(
    url: str,
    *,
    token: str | None = None,
    token_file: str | Path | None = None,
    allow_insecure: bool = False,
    ca_file: str | Path | None = None,
    client_certificate: str | Path | None = None,
    client_key: str | Path | None = None,
    transport: httpx.BaseTransport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    attempts: int = 5,
) -> Miner:
    """Connect to a miner as an analyst, and check that it accepts the token.

    A request that fails on the way is tried again, after longer and longer pauses; no job is made
    twice by that.

    Args:
        url: the miner's address; plain http is accepted for this machine only.
        token: the analyst's token; with `token_file` it does not appear in a notebook.
        token_file: the file of the token, or the access file with it that `miner-service study
            analyst` wrote, readable by nobody else (mode 0600).
        allow_insecure: whether plain http may carry the token over a network that is private.
        ca_file: the authorities that the miner's certificate must come from (PEM), where it is from
            none that is known everywhere.
        client_certificate: the certificate (PEM) for a miner that asks for one.
        client_key: the key to it, readable by nobody else; it may be in the same file.
        transport: what carries requests, in place of the network.
        sleep: waits for so many seconds.
        clock: the time in seconds, from any start.
        attempts: how often a request is tried before the miner counts as unreachable.

    Returns:
        the miner. Close it, or use it in `with`.

    Raises:
        OptionError: the address is wrong or unsafe; neither token nor token_file is given, or both.
        KeyFileError: the token's file is not there, may be read by others, or holds no token; or
            others may read the key.
        ConfigError: a certificate cannot be read.
        Unauthenticated, Unreachable: the miner does not know the token, or does not answer.

    Examples:
        An analyst lets a miner learn from what several owners released:

            study = pm.connect("https://miner.example.org", token_file="me.token").study("schools")
            tree = study.run(pm.DecisionTree("class", max_depth=4)).wait().model

        As in a test, without a network; this miner has no studies:

        >>> import httpx
        >>> import pramana as pm
        >>> empty = httpx.MockTransport(lambda request: httpx.Response(200, json={"items": []}))
        >>> pm.connect("https://miner.example.org", token="t-0123456789ab.stands-in-for-43-letters",
        ...            transport=empty)
        Miner(https://miner.example.org; studies: none)
    """
    try:
        require_address(url, allow_insecure=allow_insecure, permission="pass allow_insecure=True")
    except (ValueError, AttributeError, TypeError) as error:
        raise OptionError(f"url must be the address of a miner: {error}.", where="url") from None
    if attempts < 1:
        raise OptionError(f"attempts must be at least 1, not {attempts}.", where="attempts")
    remedy = "Check the address, and that the miner is running."
    names = (ca_file, client_certificate, client_key)
    try:
        tls = TlsFiles(*(None if name is None else Path(name) for name in names))
    except TypeError:
        raise OptionError("A certificate must be the path of a file.", where="ca_file") from None
    secret = token_from(token, token_file, url)
    calls = Calls(
        url.rstrip("/"),
        secret,
        refusal=error_of,
        remedy=remedy,
        transport=transport,
        sleep=sleep,
        attempts=attempts,
        tls=tls,
    )
    return _opened(Miner(MinerConnection(calls, sleep, clock)))


def _opened(miner: Miner) -> Miner:
    """Return a miner that has taken the token."""
    try:
        return miner.refresh()
    except Unauthenticated:
        miner.close()
        raise Unauthenticated(
            f"The miner at {miner.url} does not take this token: it is wrong or was revoked; ask"
            " whoever runs the study for another one.",
            where="token",
        ) from None
    except BaseException:
        miner.close()
        raise


class Miner:
    """A miner, and the studies that a token may see. Made by `pm.connect`.

    No printed form and no error has the token.
    """

    def __init__(self, line: MinerConnection):
        self._line = line
        self._studies: list[StudyMessage] = []

    @property
    def url(self) -> str:
        """The miner's address."""
        return self._line.url

    def refresh(self) -> Self:
        """Ask the miner again for its studies; return this."""
        self._seen()
        return self

    def studies(self) -> pd.DataFrame:
        """Return the studies that the token may see, one a row.

        Columns: `name`; `title`; `created`; `max_epsilon_record` and `max_epsilon_column`, the
        study's budget, empty where it has none.
        """
        import pandas as pd

        names = ["name", "title", "created", "max_epsilon_record", "max_epsilon_column"]
        rows = [[getattr(study, name) for name in names] for study in self._seen()]
        frame = pd.DataFrame(rows, columns=names)
        return frame.astype({"max_epsilon_record": float, "max_epsilon_column": float})

    def study(self, name: str) -> Study:
        """Return a study as it stands.

        Raises:
            NotFound: the token may see no study of this name.
        """
        try:
            found = self._line.ask(StudyMessage, "GET", study_path(name))
        except NotFound:
            known = [study.name for study in self._seen()]
            sentence = f"it may see {', '.join(map(repr, known))}" if known else "it may see none"
            raise NotFound(
                f"There is no study {name!r} that this token may see{did_you_mean([name], known)};"
                f" {sentence}.",
                where="name",
            ) from None
        return Study(self._line, found).refresh()

    def close(self) -> None:
        """End the connections; further requests fail."""
        self._line.calls.close()

    def _seen(self) -> list[StudyMessage]:
        self._studies = list(self._line.everything(StudyMessage, "/v1/studies"))
        return self._studies

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        known = ", ".join(study.name for study in self._studies) or "none"
        return f"Miner({self.url}; studies: {known})"

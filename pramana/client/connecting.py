"""The connection to a miner: its address, a token that is never printed, and its studies."""

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
from pramana.frames.sentences import checked_options, one_sentence
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
"""The form of a miner's tokens: an id, a full stop and random characters."""


def token_from(token: str | None, token_file: str | Path | None, url: str) -> str:
    """Return the token for a miner, from text or a private file. No message quotes the token."""
    if (token is None) == (token_file is None):
        raise OptionError(
            "Pass either token_file, the path of a file with your token for this miner, or the"
            " token itself; the operator issues tokens.",
            where="token_file",
        )
    if token_file is None:
        text = str(token).strip()
        if not _TOKEN.fullmatch(text):
            raise OptionError(
                "token must be a token in the form that miners issue, such as"
                " 't-0f6a0c3d9b21.kX...'; to name a file, use token_file.",
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
            "token_file must be the path of an access file, or of a file that contains only a"
            " token in the form that miners issue.",
            where="token_file",
        )
    return text


def _in_access_file(text: str, url: str) -> str:
    try:
        file = AccessFile.model_validate_json(text)
    except ValueError:
        return ""
    require_same_miner(file, url)
    return file.token


def require_same_miner(file: AccessFile, url: str) -> None:
    """Raise OptionError if `url` is not the miner that an access file's token is for."""
    if file.miner.rstrip("/") != url.rstrip("/"):
        raise OptionError(
            f"The access file is for the miner at {file.miner}, so its token is not sent to {url}.",
            where="miner",
            remedy=(
                "Use the miner's address in the file, or a token for the miner at the other one."
            ),
        )


@checked_options
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
) -> Miner:
    """Connect to a miner as an analyst, and check that it accepts the token.

    A failed request is repeated after growing pauses. A repeated request never starts a job twice.

    Args:
        url: the miner's address; plain http is accepted for this machine only.
        token: the analyst's token. Prefer `token_file`, which keeps the token out of notebooks.
        token_file: a file with the token, or the access file that `miner-service study analyst`
            wrote. Only you may have permission to read the file (mode 0600).
        allow_insecure: whether plain http may carry the token over a private network.
        ca_file: the certificate authorities (PEM) to trust for the miner, in place of the system's.
        client_certificate: the certificate (PEM) for a miner that requires one.
        client_key: the certificate's private key, readable only by you; it may be in the
            certificate's file.
        transport: an httpx transport to use in place of the network.
        sleep: a function that waits for a number of seconds.
        clock: a function that returns the time in seconds since any fixed moment.

    Returns:
        the miner. Close the connection, or use the miner in a `with` statement.

    Raises:
        OptionError: the address is invalid or unsafe, or not exactly one of token and token_file is
            given.
        KeyFileError: the token's file is missing, is readable by others or contains no token, or
            the key is readable by others.
        ConfigError: a certificate cannot be read.
        Unauthenticated, Unreachable: the miner rejects the token, or does not answer.

    Examples:
        Learn a tree from the releases of several owners:

            study = pm.connect("https://miner.example.org", token_file="me.token").study("schools")
            tree = study.run(pm.DecisionTree("class", max_depth=4)).wait().model

        Test without a network, with a miner that has no studies:

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
    remedy = "Check the address, and that the miner is running."
    names = (ca_file, client_certificate, client_key)
    try:
        tls = TlsFiles(*(None if name is None else Path(name) for name in names))
    except TypeError:
        raise OptionError(
            "The certificates and the key must be paths of files.", where="ca_file"
        ) from None
    secret = token_from(token, token_file, url)
    calls = Calls(
        url.rstrip("/"),
        secret,
        refusal=error_of,
        remedy=remedy,
        transport=transport,
        sleep=sleep,
        tls=tls,
    )
    return _opened(Miner(MinerConnection(calls, sleep, clock)))


def _opened(miner: Miner) -> Miner:
    try:
        return miner.refresh()
    except Unauthenticated:
        miner.close()
        raise Unauthenticated(
            f"The miner at {miner.url} rejects this token, which is wrong or was revoked;"
            " ask the operator for a new token.",
            where="token",
        ) from None
    except BaseException:
        miner.close()
        raise


class Miner:
    """A miner and the studies that a token may see, as `pm.connect` returns it.

    Neither the printed form nor any error contains the token.
    """

    def __init__(self, line: MinerConnection):
        self._line = line
        self._studies: list[StudyMessage] = []

    @property
    def url(self) -> str:
        """The miner's address."""
        return self._line.url

    def refresh(self) -> Self:
        """Fetch the studies from the miner again and return this miner."""
        self._seen()
        return self

    def studies(self) -> pd.DataFrame:
        """Return the studies that the token may see, one row each.

        Columns: `name`; `title`; `created`; `max_epsilon_record` and `max_epsilon_column`, the
            study's budget (empty if the study has no budget).
        """
        import pandas as pd

        names = ["name", "title", "created", "max_epsilon_record", "max_epsilon_column"]
        rows = [[getattr(study, name) for name in names] for study in self._seen()]
        frame = pd.DataFrame(rows, columns=names)
        return frame.astype({"max_epsilon_record": float, "max_epsilon_column": float})

    def study(self, name: str) -> Study:
        """Return the study with this name. Raises NotFound."""
        try:
            found = self._line.ask(StudyMessage, "GET", study_path(name))
        except NotFound:
            known = [study.name for study in self._seen()]
            sentence = f"the token may see {', '.join(map(repr, known)) or 'no study'}"
            raise NotFound(
                f"Study {name!r} does not exist, or this token may not see"
                f" it{did_you_mean([name], known)}; {sentence}.",
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

"""The way to a miner: its address, a token, and the studies that the token may see."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from owner_agent.release.calls import Calls, Manner
from owner_agent.state.tls import TlsFiles
from pramana.client.line import Line, study_path
from pramana.client.study import Study
from pramana.client.tokens import token_from
from pramana.frames.sentences import options_told
from pramana.frames.tables import shown
from pramana_core.errors import NotFound, OptionError, Unauthenticated
from pramana_core.wire.addresses import require_address
from pramana_core.wire.people import Study as StudyMessage
from pramana_core.wire.problems import error_of

if TYPE_CHECKING:
    import httpx
    import pandas as pd


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
        token_file: the file of the token, readable by nobody else (mode 0600).
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
    _require_address(url, allow_insecure)
    _require_attempts(attempts)
    remedy = "Check the address, and that the miner is running."
    names = (ca_file, client_certificate, client_key)
    tls = TlsFiles(*(None if name is None else Path(name) for name in names))
    manner = Manner(error_of, remedy, transport=transport, sleep=sleep, attempts=attempts, tls=tls)
    secret = token_from(token, token_file).text
    return _opened(Miner(Line(Calls(url.rstrip("/"), secret, manner), sleep, clock)))


def _opened(miner: Miner) -> Miner:
    """Return a miner that has taken the token."""
    try:
        return miner.refresh()
    except Unauthenticated as error:
        miner.close()
        raise Unauthenticated(
            f"The miner at {miner.url} does not take this token: it is wrong or was revoked; ask"
            " whoever runs the study for another one.",
            where="token",
        ) from error
    except BaseException:
        miner.close()
        raise


def _require_address(url: object, allow_insecure: bool) -> None:
    if not isinstance(url, str):
        raise OptionError(f"url must be a string, not {shown(url)}.", where="url")
    try:
        require_address(url, allow_insecure=allow_insecure, permission="pass allow_insecure=True")
    except ValueError as error:
        raise OptionError(f"url must be the address of a miner: {error}.", where="url") from None


def _require_attempts(attempts: object) -> None:
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise OptionError(
            f"attempts must be a whole number of at least 1, not {shown(attempts)}.",
            where="attempts",
        )


class Miner:
    """A miner, and the studies that a token may see. Made by `pm.connect`.

    No printed form and no error has the token.
    """

    def __init__(self, line: Line):
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
            NotFound: there is none of this name that the token may see.
        """
        if not isinstance(name, str):
            raise OptionError(f"name must be a study's name, not {shown(name)}.", where="name")
        try:
            found = self._line.ask(StudyMessage, "GET", study_path(name))
        except NotFound as error:
            known = ", ".join(repr(study.name) for study in self._seen())
            told = f"it may see {known}" if known else "it may see none"
            raise NotFound(
                f"There is no study {name!r} that this token may see; {told}.", where="name"
            ) from error
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

"""Asks what the service depends on whether it is there, without waiting for what stands still.

Each is asked in a thread of its own, at most once at a time: what does not answer keeps that one
thread, and neither those that serve requests nor who asks again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future

from pramana_core.errors import NotReady, PramanaError, StoreMismatch

ANSWER_SECONDS = 4.0
"""What takes longer to say that it is there counts as away."""

Check = Callable[[], None]
"""Raises NotReady or StorageFull where something is away."""

_Outcome = Exception | None


class Probes:
    """What is being asked now, by name."""

    def __init__(self, seconds: float = ANSWER_SECONDS) -> None:
        self._seconds = seconds
        self._under_way: dict[str, Future[_Outcome]] = {}

    async def require(self, checks: Mapping[str, Check]) -> None:
        """Check everything at the same time, on the loop of the service.

        Raises:
            NotReady: something is away; it says what, and names all of it in `where`.
        """
        asked = {what: asyncio.wrap_future(self._ask(what, checks[what])) for what in checks}
        await asyncio.wait(asked.values(), timeout=self._seconds)
        away = {what: self._outcome(what, told) for what, told in asked.items()}
        errors = {what: error for what, error in away.items() if error is not None}
        if errors:
            raise NotReady(
                " ".join(f"{what}: {_words(error)}" for what, error in errors.items()),
                where=", ".join(errors),
                remedy=_remedy(errors.values()),
            )

    def _ask(self, what: str, check: Check) -> Future[_Outcome]:
        """Begin to ask, or wait for whoever asked before."""
        found = self._under_way.get(what)
        if found is None or found.done():
            found = self._under_way[what] = Future()
            threading.Thread(target=_run, args=(check, found), name=what, daemon=True).start()
        return found

    def _outcome(self, what: str, told: asyncio.Future[_Outcome]) -> _Outcome:
        if told.done():
            return told.result()
        return NotReady(f"no answer within {self._seconds:g} seconds.", where=what)


def _run(check: Check, outcome: Future[_Outcome]) -> None:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is away
        outcome.set_result(error)
    else:
        outcome.set_result(None)


def _remedy(errors: Iterable[Exception]) -> str:
    lasting = [error.remedy or "" for error in errors if isinstance(error, StoreMismatch)]
    return " ".join(lasting) or "It is ready again by itself once these are."


def _words(error: Exception) -> str:
    return error.message if isinstance(error, PramanaError) else "it cannot be used."

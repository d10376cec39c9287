"""The checks of `owner-agent doctor`. To add a check, write a function and list it in `CHECKS`."""

from __future__ import annotations

import sqlite3
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from owner_agent.release.client import Miner
from owner_agent.release.delivery import require_agreed, require_one_secret
from owner_agent.release.history import brief_miner, known_entries, require_known
from owner_agent.release.ledger import PEER, Ledger
from owner_agent.release.memory import load_memory, remembered_studies
from owner_agent.report.study import StudyForecast, outlook_of
from owner_agent.site.planning import PlannedSite, planned
from owner_agent.state.keys import KeyStore
from owner_agent.state.ledger_file import has_ledger, ledger_transaction, require_ledger
from owner_agent.state.tokens import TokenStore
from owner_agent.table.encode import encode
from pramana_core.alike import first_few
from pramana_core.audit import AUDIT, AuditLog
from pramana_core.doctor import (
    LEAST_FREE,
    NotChecked,
    check_certificate,
    check_certificates,
    check_clock,
    check_disk,
    check_end,
    check_limits,
    check_modes,
)
from pramana_core.errors import BudgetExceeded, NotReady, PramanaError, Unauthenticated
from pramana_core.report.numbers import plural
from pramana_core.wire.services import read_problem

if TYPE_CHECKING:
    import httpx

    from owner_agent.site.sections import MinerSection
    from owner_agent.site.site import Site
    from owner_agent.state.environment import Environment

_OPEN_FILES = 256


@dataclass(frozen=True)
class ExaminedSite:
    """A site to examine, and how many free bytes its disk must have."""

    site: Site
    environment: Environment
    least_free: int = LEAST_FREE

    @property
    def section(self) -> MinerSection:
        """The section [miner]. Raises NotChecked if the site file lacks it."""
        if self.site.file.miner is None:
            raise NotChecked("the site file names no miner.")
        return self.site.file.miner

    @property
    def state(self) -> Path:
        """The state folder. Raises NotChecked if the folder is missing."""
        if not self.site.state.is_dir():
            raise NotChecked(f"{self.site.state} does not exist.")
        return self.site.state

    def plan(self) -> PlannedSite:
        """Return the site's plan. Raises NotChecked if the site has no variables."""
        if not self.site.file.variables:
            raise NotChecked("the site file has no variables.")
        with _one_problem():
            return planned(self.site)

    @contextmanager
    def answer(self) -> Iterator[httpx.Response]:
        """Yield the miner's response to `/readyz`, on an open connection. Raises Unreachable."""
        environment = replace(self.environment, attempts=1)
        self.section  # noqa: B018 - raises
        with Miner.of(self.site, None, environment, environment.patience.brief) as miner:
            yield miner.send("GET", "/readyz")


@contextmanager
def _one_problem() -> Iterator[None]:
    """Return an error that fits on one line, because each finding is one line."""
    try:
        yield
    except PramanaError as error:
        if not isinstance(error.__cause__, ExceptionGroup):
            raise
        first, *more = error.__cause__.exceptions
        raise type(error)(
            f"{first.message.removesuffix('.')}; {plural(len(more), 'more problem')}.",
            where=error.where,
            remedy="Run `owner-agent check`, which lists all problems.",
        ) from None


def _state_folder(examined: ExaminedSite) -> str:
    state = examined.site.state
    require_ledger(state)
    if not has_ledger(state):
        raise NotReady(
            f"{state} has no ledger and no keys yet.",
            where=str(state),
            remedy="Run `owner-agent join INVITATION`, or `owner-agent keys create`.",
        )
    with ledger_transaction(state) as ledger:
        if ledger.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError
    entries = known_entries(state)
    for study in remembered_studies(state):
        load_memory(state, study)
    return f"The ledger is complete: {plural(len(entries), 'release')}."


def _modes(examined: ExaminedSite) -> str:
    return check_modes(examined.state, 0o077)


def _keys(examined: ExaminedSite) -> str:
    store = KeyStore(examined.site.state)
    linked = examined.site.file.miner is not None and examined.site.file.variables
    store.load() if linked else store.load_draw()
    shown = (f"{name} {found or 'absent'}" for name, found in store.fingerprints().items())
    return f"The fingerprints are {', '.join(shown)}."


def _unfinished_releases(examined: ExaminedSite) -> str:
    begun = [
        entry.name
        for entry in Ledger(examined.state).entries()
        if entry.state in {"prepared", "sending"} and not entry.miner.startswith(PEER)
    ]
    if begun:
        raise NotReady(
            f"The sending of {first_few(begun, 3)} was interrupted.",
            where=begun[0],
            remedy="Run `owner-agent publish` again; it continues with the same bytes.",
        )
    return "No release is interrupted."


def _disk(examined: ExaminedSite) -> str:
    sizes = (part.stat().st_size for part in examined.site.table.parts if part.exists())
    needed = examined.least_free + 2 * sum(sizes)
    log = AuditLog(examined.state / AUDIT, examined.environment.now)
    if log.path.exists():  # the first entry begins it
        log.require_room()
    return check_disk(examined.state, needed)


def _limits(_examined: ExaminedSite) -> str:
    return check_limits(_OPEN_FILES, LEAST_FREE)


def _plan(examined: ExaminedSite) -> str:
    return f"The plan of {plural(len(examined.plan().variables), 'variable')} is consistent."


def _table(examined: ExaminedSite) -> str:
    with _one_problem():
        table = encode(examined.site, examined.plan())
    return f"The table fits the plan: {plural(table.rows, 'record')}."


def _client_certificate(examined: ExaminedSite) -> str:
    examined.section  # noqa: B018 - raises
    files = examined.site.tls_files
    files.verify()
    named = {"ca_file": files.ca_file, "client certificate": files.client_certificate}
    return check_certificates(named, examined.environment.now())


def _reachability(examined: ExaminedSite) -> str:
    with examined.answer() as response:
        ready, problem = response.is_success, read_problem(response.content)
    if ready:
        return f"The miner at {examined.section.url} is ready."
    raise NotReady(
        f"The miner is not ready: {problem.detail if problem else 'it gives no reason'}.",
        where=examined.section.url,
        remedy="Check the address in the site file, and inform the study's operator.",
    )


def _miner_certificate(examined: ExaminedSite) -> str:
    with examined.answer() as response:
        stream = response.extensions.get("network_stream")
        connection = None if stream is None else stream.get_extra_info("ssl_object")
        if connection is None:
            raise NotChecked("the connection to the miner does not use TLS.")
        found = ssl.DER_cert_to_PEM_cert(connection.getpeercert(True)).encode()
    return check_certificate(found, examined.environment.now(), "The miner's certificate")


def _clock(examined: ExaminedSite) -> str:
    with examined.answer() as response:
        date = response.headers.get("Date")
    return check_clock(date, examined.environment.now(), "the miner")


def _token(examined: ExaminedSite) -> str:
    study, store = examined.section.study, TokenStore(examined.site.state)
    with brief_miner(examined.site, examined.environment) as miner:
        miner.study(study)
    remedy = "Ask the operator for a new invitation, and run `owner-agent join`."
    end, now = store.end(study), examined.environment.now()
    return check_end(end, now, "The token", Unauthenticated, remedy)


def _linkage(examined: ExaminedSite) -> str:
    study = examined.section.study
    found = KeyStore(examined.site.state).linkage_fingerprint(study)
    with brief_miner(examined.site, examined.environment) as miner:
        require_one_secret(found, miner, study)
    return "The linkage secret does not contradict the other owners' secrets."


def _study_plan(examined: ExaminedSite) -> str:
    study, adopted = examined.section.study, examined.plan().adopted
    with brief_miner(examined.site, examined.environment) as miner:
        require_agreed(adopted, miner, study)
    return "The site file and the miner agree about the study plan."


def _history(examined: ExaminedSite) -> str:
    study, entries = examined.section.study, Ledger(examined.site.state).entries()
    with brief_miner(examined.site, examined.environment) as miner:
        require_known(miner.releases(study), entries, miner.url)
    return "The ledger lists all releases of this owner at the miner."


def _budget(examined: ExaminedSite) -> str:
    examined.section  # noqa: B018 - raises
    outlook = outlook_of(examined.site, examined.plan(), examined.environment)
    if not isinstance(outlook, StudyForecast):
        raise NotChecked(f"the miner gave no forecast: {outlook}")
    if outlook.forecast.refused is not None:
        raise BudgetExceeded(
            f"The miner would reject the next release. {outlook.forecast.refused}",
            where="budget",
            remedy="Design a plan with a smaller loss (`owner-agent design`), or ask the operator"
            " for a larger budget.",
        )
    return "The miner would accept a release by this plan."


CHECKS: tuple[Callable[[ExaminedSite], str], ...] = (
    _modes, _keys, _state_folder, _unfinished_releases, _disk, _limits, _plan, _table,
    _client_certificate, _reachability, _miner_certificate, _clock, _token, _linkage, _study_plan,
    _history, _budget,
)  # fmt: skip
"""The checks, in the order in which the report lists them."""

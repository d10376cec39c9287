"""The checks of `owner-agent doctor`. A new check is a function and its entry in `CHECKS`.

Nothing is changed, and no record is sent.
"""

from __future__ import annotations

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
from owner_agent.state.audit import AUDIT
from owner_agent.state.keys import KeyStore
from owner_agent.state.ledger_file import LEDGER, has_ledger, ledger_transaction, require_ledger
from owner_agent.state.tokens import TokenStore
from pramana_core.alike import first_few
from pramana_core.audit import AuditLog
from pramana_core.doctor import (
    LEAST_FREE,
    NotChecked,
    check_certificate,
    check_clock,
    check_disk,
    check_end,
    check_limits,
    check_modes,
    free_bytes,
)
from pramana_core.errors import (
    BudgetExceeded,
    NotReady,
    StoreCorrupt,
    Unauthenticated,
    Unreachable,
)
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
    """A site, and `free`, which measures the free bytes of a folder's disk."""

    site: Site
    environment: Environment
    free: Callable[[Path], int] = free_bytes

    @property
    def section(self) -> MinerSection:
        """The miner's section. Raises NotChecked without one."""
        if self.site.file.miner is None:
            raise NotChecked("the site file names no miner.")
        return self.site.file.miner

    @property
    def state(self) -> Path:
        """The state folder. Raises NotChecked if it is missing."""
        if not self.site.state.is_dir():
            raise NotChecked(f"{self.site.state} does not exist.")
        return self.site.state

    def plan(self) -> PlannedSite:
        """Return the site's plan. Raises NotChecked without variables."""
        if not self.site.file.variables:
            raise NotChecked("the site file has no variables.")
        return planned(self.site)

    @contextmanager
    def answer(self) -> Iterator[httpx.Response]:
        """Yield the miner's answer to `/readyz` over an open connection. Raises Unreachable."""
        environment = replace(self.environment, attempts=1)
        self.section  # noqa: B018 - raises
        with Miner.of(self.site, None, environment, environment.patience.brief) as miner:
            yield miner.send("GET", "/readyz")


def state_folder(examined: ExaminedSite) -> str:
    """Check the ledger, the outbox and the reports against each other."""
    state = examined.site.state
    require_ledger(state)
    if not has_ledger(state):
        raise NotReady(
            f"{state} has no ledger and no keys yet.",
            where=str(state),
            remedy="Run `owner-agent join INVITATION`, or `owner-agent keys create`.",
        )
    with ledger_transaction(state) as ledger:
        (result,) = ledger.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise StoreCorrupt(
            f"The ledger {state / LEDGER} is damaged.",
            where=str(state / LEDGER),
            remedy="Move the state folder away, and restore your latest backup.",
        )
    entries = known_entries(state)
    for study in remembered_studies(state):
        load_memory(state, study)
    return f"The ledger is complete: {plural(len(entries), 'release')}."


def modes(examined: ExaminedSite) -> str:
    """Check that nobody else may access the state folder."""
    return check_modes(examined.state, 0o077)


def keys(examined: ExaminedSite) -> str:
    """Check both keys; show their fingerprints."""
    store = KeyStore(examined.site.state)
    if examined.site.file.miner is not None and examined.site.file.variables:
        store.load()
    else:
        store.load_draw()
    shown = (f"{name} {found or 'absent'}" for name, found in store.fingerprints().items())
    return f"The fingerprints are {', '.join(shown)}."


def unfinished_releases(examined: ExaminedSite) -> str:
    """Check that no release was interrupted."""
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


def disk(examined: ExaminedSite) -> str:
    """Check that the disk has space for the next release and the audit log."""
    table = examined.site.table.path
    needed = LEAST_FREE + 2 * (table.stat().st_size if table.exists() else 0)
    log = AuditLog(examined.state / AUDIT, examined.environment.now)
    return check_disk(examined.state, needed, log, examined.free)


def limits(_examined: ExaminedSite) -> str:
    """Check this process's limits."""
    return check_limits(_OPEN_FILES, LEAST_FREE)


def table(examined: ExaminedSite) -> str:
    """Check that the table can be opened."""
    source = examined.site.table
    if source.database:
        raise NotChecked("`owner-agent check` reads the database.")
    with source.path.open("rb") as file:
        file.read(1)
    return f"{source.path} can be read; `owner-agent check` checks its content."


def plan(examined: ExaminedSite) -> str:
    """Check that every variable has a channel."""
    return f"The plan of {plural(len(examined.plan().variables), 'variable')} is consistent."


def client_certificate(examined: ExaminedSite) -> str:
    """Check this site's certificate and the authority's."""
    examined.section  # noqa: B018 - raises
    files = examined.site.tls_files
    files.verify()
    named = {"The ca_file": files.ca_file, "The client certificate": files.client_certificate}
    now = examined.environment.now()
    lines = [
        check_certificate(path.read_bytes(), now, f"{what} {path}")
        for what, path in named.items()
        if path is not None
    ]
    if not lines:
        raise NotChecked("the site file names no certificates.")
    return " ".join(lines)


def reachability(examined: ExaminedSite) -> str:
    """Check that the miner answers and is ready."""
    with examined.answer() as response:
        ready, problem = response.is_success, read_problem(response.content)
    url = examined.section.url
    if ready:
        return f"The miner at {url} is ready."
    if problem is None:
        raise Unreachable(
            f"The server at {url} answered /readyz with status {response.status_code}, which a"
            " miner does not.",
            where=url,
            remedy="Check the address in the site file.",
        )
    raise NotReady(
        f"The miner is not ready: {problem.detail}",
        where=url,
        remedy="Inform the study's operator.",
    )


def miner_certificate(examined: ExaminedSite) -> str:
    """Check the end of the miner's certificate."""
    with examined.answer() as response:
        stream = response.extensions.get("network_stream")
        connection = None if stream is None else stream.get_extra_info("ssl_object")
        if connection is None:
            raise NotChecked("the connection to the miner does not use TLS.")
        found = ssl.DER_cert_to_PEM_cert(connection.getpeercert(True)).encode()
    return check_certificate(found, examined.environment.now(), "The miner's certificate")


def clock(examined: ExaminedSite) -> str:
    """Compare the clock with the miner's."""
    with examined.answer() as response:
        date = response.headers.get("Date")
    return check_clock(date, examined.environment.now(), "the miner")


def token(examined: ExaminedSite) -> str:
    """Check that the miner accepts the token, and the token's end."""
    study, store = examined.section.study, TokenStore(examined.site.state)
    with brief_miner(examined.site, examined.environment) as miner:
        miner.study(study)
    end = store.end(study)
    if end is None:
        return "The miner accepts the token; its end is unknown."
    error = Unauthenticated(
        "",
        where=study,
        remedy="Ask the study's operator for a new invitation, and run `owner-agent join`.",
    )
    return check_end(end, examined.environment.now(), "The token", error)


def linkage(examined: ExaminedSite) -> str:
    """Compare the linkage secret's fingerprint with the other owners'."""
    study = examined.section.study
    found = KeyStore(examined.site.state).linkage_fingerprint(study)
    with brief_miner(examined.site, examined.environment) as miner:
        require_one_secret(found, miner, study)
    return "The linkage secret does not contradict the other owners' secrets."


def study_plan(examined: ExaminedSite) -> str:
    """Compare the site file's study plan with the miner's."""
    study, adopted = examined.section.study, examined.plan().adopted
    with brief_miner(examined.site, examined.environment) as miner:
        require_agreed(adopted, miner, study)
    return "The site file and the miner agree about the study plan."


def history(examined: ExaminedSite) -> str:
    """Check that the ledger lists all releases that the miner has."""
    study, entries = examined.section.study, Ledger(examined.site.state).entries()
    with brief_miner(examined.site, examined.environment) as miner:
        require_known(miner.releases(study), entries, miner.url)
    return "The ledger lists all releases of this owner at the miner."


def budget(examined: ExaminedSite) -> str:
    """Check the plan against the study's budget."""
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
    modes,
    keys,
    state_folder,
    unfinished_releases,
    disk,
    limits,
    table,
    plan,
    client_certificate,
    reachability,
    miner_certificate,
    clock,
    token,
    linkage,
    study_plan,
    history,
    budget,
)
"""The checks, in the order of the report."""

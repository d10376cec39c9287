"""Sessions with peers: what waits for her yes, what it would reveal, and what there was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from owner_agent.pages.deps import AgentDep, SentDep, SiteDep
from owner_agent.pages.rendering import page
from owner_agent.peer.asked import AskedSession, asked_sessions, decide, revealed
from owner_agent.peer.exact import recalled
from owner_agent.peer.session import SessionResult, all_kept
from owner_agent.peer.told import ToldColumn, told_columns
from owner_agent.site.site import Site
from pramana_core.errors import OptionError, PramanaError, StoreCorrupt
from pramana_core.pages.forms import ROOT
from pramana_core.pages.words import apart

router = APIRouter()


@dataclass(frozen=True)
class Asked:
    """A session that was proposed, what it is about, and what a yes would reveal."""

    session: AskedSession
    task: list[tuple[str, str]]
    reveals: list[str]
    error: PramanaError | None = None

    @classmethod
    def of(cls, site: Site, session: AskedSession) -> Asked:
        """Return a session as the page shows it; a site file that is wrong is said beside it."""
        task = session.proposal.task.model_dump(exclude={"kind"}, exclude_defaults=True)
        written = [(name.replace("_", " "), _written(value)) for name, value in task.items()]
        try:
            return cls(session, written, revealed(site, session.proposal))
        except PramanaError as error:
            return cls(session, written, [], error)


def _written(value: Any) -> str:
    """Return what a task says of one thing, for people."""
    match value:
        case dict():
            return "; ".join(
                f"{apart(node)} given {_written(of)}" if of else apart(node)
                for node, of in value.items()
            )
        case list():
            return ", ".join(apart(str(one)) for one in value)
        case _:
            return apart(str(value))


@router.get("/peers")
def show_peers(request: Request, site: SiteDep) -> Response:
    """Show what waits for a yes, and what earlier sessions told."""
    peer = site.file.peer
    lost: StoreCorrupt | None = None
    told: list[ToldColumn] = []
    kept: list[SessionResult] = []
    asked: list[Asked] = []
    if peer is not None:
        asked = [Asked.of(site, one) for one in asked_sessions(site.state)]
        kept = all_kept(site.state)
        try:
            told = told_columns(recalled(site.state))
        except StoreCorrupt as error:
            lost = error
    return page(
        request,
        "peers.html.j2",
        title="Peers",
        here="peers",
        peer=peer,
        asked=asked,
        kept=kept,
        told=told,
        lost=lost,
    )


@router.post("/peers/{key}")
def decide_session(agent: AgentDep, site: SiteDep, key: str, sent: SentDep) -> Response:
    """Say yes or no to a session; a yes counts once, when its proposer begins it again."""
    match sent.text("decision"):
        case "yes":
            decide(site, key, "accepted", agent.environment.now())
        case "no":
            decide(site, key, "refused", agent.environment.now())
        case _:
            raise OptionError("Say yes or no.", where="decision")
    return RedirectResponse(f"{ROOT}/peers", 303)

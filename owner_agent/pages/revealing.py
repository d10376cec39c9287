"""Where a site stands, what its plan reveals, what left, and its sessions with peers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from owner_agent.http import Agent
from owner_agent.pages.rendering import AgentDep, SentDep, SiteDep, page
from owner_agent.peer.asked import AskedSession, asked_sessions, decide, revealed, waiting_sessions
from owner_agent.peer.exact import DisclosedColumn, recalled, told_columns
from owner_agent.peer.session import SessionResult, all_kept
from owner_agent.release.approval import Approval
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.report.plan_shown import PLAN
from owner_agent.report.releases import ColumnSpent, LedgerSummary
from owner_agent.report.report import others_apart, site_report
from owner_agent.site.planning import awaiting_plan, planned
from owner_agent.site.site import Site
from owner_agent.state.private_files import TokenStore
from pramana_core.errors import OptionError, PramanaError, StoreCorrupt, Unauthenticated
from pramana_core.pages.forms import FRAMED, ROOT
from pramana_core.pages.rendering import apart, plan_words

router = APIRouter()


@dataclass(frozen=True)
class NextStep:
    """What is next for an owner: a page of these, or a command."""

    words: str
    command: str = ""
    address: str = ""
    label: str = ""


@router.get("/")
def show_start(request: Request, agent: AgentDep, site: SiteDep) -> Response:
    """Show where the site stands, and what is next."""
    entries = Ledger(site.state).entries()
    summary = LedgerSummary.of(entries)
    return page(
        request,
        "start.html.j2",
        title=site.owner,
        here="",
        site=site,
        told=summary,
        left=[entry for entry in entries if entry.left],
        bars=_bars(summary.columns),
        scale=_scale(summary.columns),
        running=_running(agent),
        waiting=len(waiting_sessions(site.state)),
        next=next_step(site, entries),
        others=others_apart(site),
    )


@router.get("/plan")
def show_plan(request: Request, site: SiteDep) -> Response:
    """Show what publishing would reveal, in plain words, and around the report of `plan`."""
    waiting = awaiting_plan(site)
    plan = None if waiting or not site.file.variables else planned(site)
    return page(
        request,
        "plan.html.j2",
        title="What it reveals",
        here="plan",
        waiting=waiting,
        lines=[] if plan is None else plan_words(plan.plan),
        drawn=plan is not None,
        others=others_apart(site),
    )


@router.get("/plan/report")
def read_report(agent: AgentDep, site: SiteDep) -> Response:
    """Return the report of `owner-agent plan`, to be framed."""
    made = site_report(site, agent.environment)
    written = PLAN.html(made, site.owner)
    return Response(written, media_type="text/html", headers=dict(FRAMED))


@router.get("/left")
def show_left(request: Request, site: SiteDep) -> Response:
    """Show what left and when, to whom, and what each column has lost by it."""
    summary = LedgerSummary.of(Ledger(site.state).entries())
    return page(
        request,
        "left.html.j2",
        title="What left",
        here="left",
        told=summary,
        bars=_bars(summary.columns),
        scale=_scale(summary.columns),
    )


def next_step(site: Site, entries: Sequence[Entry]) -> NextStep | None:
    """Return what a site waits for; None where all that its plan reports has left."""
    if not site.file.variables:
        return NextStep(
            "The site file names no variables to randomize. What it masks, or shares as a tree,"
            " leaves by a command of its own: `owner-agent mask` or `owner-agent share-model`."
        )
    if site.file.miner is None:
        return None
    if waiting := awaiting_plan(site):
        return NextStep(
            f"Nothing says yet how {len(waiting)} sensitive variables are randomized. With the"
            " study's invitation, at a terminal:",
            command="owner-agent join INVITATION",
        )
    try:
        TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return NextStep(
            f"This site has not joined study {site.miner.study} yet. At a terminal:",
            command="owner-agent join INVITATION",
        )
    except PramanaError as error:
        return NextStep(f"{error.message} {error.remedy or ''}")
    if any(entry.state in ("prepared", "sending") for entry in entries):
        return NextStep(
            "A publication was interrupted. It goes on with the same bytes, and sends only what"
            " the miner does not have.",
            address="/pages/publish",
            label="Go on with it",
        )
    if not any(entry.left for entry in entries):
        return NextStep(
            "Nothing has left yet. See what publishing would reveal, and then publish.",
            address="/pages/publish",
            label="Look at it and publish",
        )
    return None


def _running(agent: Agent) -> str | None:
    last = agent.publications.last()
    return last.id if last is not None and last.state == "running" else None


@dataclass(frozen=True)
class Bar:
    """A bar of what a column has lost; `text` says it where no number bounds it."""

    what: str
    spent: float | None
    text: str


def _bars(columns: tuple[ColumnSpent, ...]) -> list[Bar]:
    bars = []
    for one in columns:
        open_one = one.epsilon is not None and math.isinf(one.epsilon)
        text = "as it is" if open_one else one.text
        bars.append(Bar(one.column, None if open_one else one.epsilon, text))
    return sorted(bars, key=lambda one: -(math.inf if one.spent is None else one.spent))


def _scale(columns: tuple[ColumnSpent, ...]) -> float:
    known = [one.spent for one in _bars(columns) if one.spent is not None]
    return max(known, default=0.0) or 1.0


@dataclass(frozen=True)
class ProposalView:
    """A session that was proposed, what it is about, and what a yes would reveal."""

    session: AskedSession
    task: list[tuple[str, str]]
    reveals: list[str]
    error: PramanaError | None = None

    @classmethod
    def of(cls, site: Site, session: AskedSession) -> ProposalView:
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
    columns: list[DisclosedColumn] = []
    kept: list[SessionResult] = []
    asked: list[ProposalView] = []
    shown = Approval.of(site)
    if peer is not None:
        asked = [ProposalView.of(site, one) for one in asked_sessions(site.state)]
        kept = all_kept(site.state)
        try:
            columns = told_columns(recalled(site.state))
        except StoreCorrupt as error:
            lost = error
    return page(
        request,
        "peers.html.j2",
        title="Peers",
        here="peers",
        peer=peer,
        asked=asked,
        shown=shown.digest,
        kept=kept,
        told=columns,
        lost=lost,
    )


@router.post("/peers/{key}")
def decide_session(agent: AgentDep, site: SiteDep, key: str, sent: SentDep) -> Response:
    """Say yes or no to a session; a yes counts once, when its proposer begins it again."""
    match sent.text("decision"):
        case "yes":
            shown = Approval(sent.text("shown"))
            decide(site, key, "accepted", agent.environment.now(), shown)
        case "no":
            decide(site, key, "refused", agent.environment.now())
        case _:
            raise OptionError("Say yes or no.", where="decision")
    return RedirectResponse(f"{ROOT}/peers", 303)

"""Pages on a site's next step, on what its plan would reveal, and on its releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from owner_agent.pages.rendering import AgentDep, SiteDep, page
from owner_agent.release.ledger import FILE, Entry, Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords
from owner_agent.report.plan import report_of, separate_release_lines
from owner_agent.report.releases import LedgerSummary, how, loss_of
from owner_agent.report.study import outlook_of
from owner_agent.site.planning import awaiting_plan, planned
from owner_agent.site.site import Site
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import PramanaError, Unauthenticated
from pramana_core.pages.forms import FRAMED
from pramana_core.pages.words import plan_words
from pramana_core.report.page import html
from pramana_core.report.report import Row

router = APIRouter()


@dataclass(frozen=True)
class NextStep:
    """An owner's next step, as a page or a command."""

    words: str
    command: str = ""
    address: str = ""
    label: str = ""


@router.get("/")
def show_start(request: Request, agent: AgentDep, site: SiteDep) -> Response:
    """Show a site's state and its next step."""
    entries = Ledger(site.state).entries()
    summary, last = LedgerSummary.of(entries), agent.publications.last()
    return page(
        request,
        "start.html.j2",
        title=site.owner,
        here="",
        site=site,
        left=[entry for entry in entries if entry.left],
        **_bars(summary.columns),
        running=last.id if last is not None and last.state == "running" else None,
        next=next_step(site, entries),
        others=separate_release_lines(site),
    )


@router.get("/plan")
def show_plan(request: Request, site: SiteDep) -> Response:
    """Show in plain words what publishing would reveal, with the report of `owner-agent plan`."""
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
        others=separate_release_lines(site),
    )


@router.get("/plan/report")
def read_report(agent: AgentDep, site: SiteDep) -> Response:
    """Return the report of `owner-agent plan`, which the page shows in a frame."""
    environment, options = agent.environment, PublishOptions(preview=True)
    now = PreparedRecords.of(site, lambda _stage, _done, _total: None, options, environment)
    study = outlook_of(site, now.plan, environment)
    written = html(report_of(site, study, now), site.owner)
    return Response(written, media_type="text/html", headers=dict(FRAMED))


@router.get("/left")
def show_left(request: Request, site: SiteDep) -> Response:
    """Show all releases with their dates and receivers, and the privacy loss of each column."""
    summary = LedgerSummary.of(Ledger(site.state).entries())
    return page(
        request,
        "left.html.j2",
        title="What was sent",
        here="left",
        summary=summary,
        how=how,
        loss_of=loss_of,
        **_bars(summary.columns),
    )


def next_step(site: Site, entries: Sequence[Entry]) -> NextStep | None:
    """Return a site's next step, or None if everything that its plan reports has been sent."""
    if not site.file.variables:
        return NextStep(
            "The site file has no variables to randomize. Send masked columns with `owner-agent"
            " mask`, and a tree with `owner-agent share-model`."
        )
    if site.file.miner is None:
        return None
    if waiting := awaiting_plan(site):
        return NextStep(
            f"{len(waiting)} sensitive variables have no randomization yet. With the study's"
            " invitation, run at a terminal:",
            command="owner-agent join INVITATION",
        )
    try:
        TokenStore(site.state).load(site.miner.study)
    except Unauthenticated:
        return NextStep(
            f"This site has not joined study {site.miner.study} yet. At a terminal, run:",
            command="owner-agent join INVITATION",
        )
    except PramanaError as error:
        return NextStep(f"{error.message} {error.remedy or ''}")
    sent = [entry for entry in entries if not entry.miner.startswith(FILE)]
    if any(entry.state in ("prepared", "sending") for entry in sent):
        return NextStep(
            "A publication was interrupted. Publish again to send the missing parts.",
            address="/pages/publish",
            label="Continue",
        )
    if not any(entry.left for entry in entries):
        return NextStep(
            "Nothing has been sent yet. See what publishing would reveal, then publish.",
            address="/pages/publish",
            label="Review and publish",
        )
    return None


def _bars(columns: Sequence[Row]) -> dict[str, Any]:
    """Return the loss of each column, with unbounded losses first, and the maximum of the scale."""
    bars = sorted(columns, key=lambda row: -math.inf if row["epsilon"] is None else -row["epsilon"])
    return {"bars": bars, "scale": max((row["epsilon"] or 0.0 for row in bars), default=0.0) or 1.0}

"""Pages for publishing after an approval, and for following its progress."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from owner_agent.pages.publications import Publication
from owner_agent.pages.rendering import Agent, AgentDep, SentDep, SiteDep, page
from owner_agent.release.approval import Approval
from owner_agent.release.ledger import Entry, Ledger
from owner_agent.release.options import STAGES, PublishOptions
from owner_agent.release.publish import PreparedRecords
from owner_agent.report.corrected import Corrected
from owner_agent.report.losses import Losses, after, before, losses_by
from owner_agent.report.plan import warnings
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.planning import planned
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from pramana_core.errors import OptionError, PramanaError
from pramana_core.pages.words import plan_words

router = APIRouter()


@router.get("/publish")
def show_form(request: Request, agent: AgentDep, site: SiteDep) -> Response:
    """Show what would be sent, with a form for the approval."""
    return _form(request, agent, site)


@router.post("/publish")
def publish(request: Request, agent: AgentDep, site: SiteDep, sent: SentDep) -> Response:
    """Start publishing after an approval, as `owner-agent publish` does."""
    chosen: CorrectionChoice | None = "keep" if sent.text("corrections") == "keep" else None
    try:
        if sent.text("yes") != "on":
            raise OptionError("Nothing was sent: publication was not confirmed.", where="yes")
        shown = Approval(sent.text("shown"))
        shown.require(site)
        started = agent.publications.start(
            PublishOptions(
                accept_added_loss=sent.text("accept_added_loss") == "on",
                accept_new_people=sent.text("accept_new_people") == "on",
                corrections=chosen,
            ),
            shown,
        )
    except PramanaError as error:
        return _form(request, agent, site, chosen, error)
    return RedirectResponse(f"publications/{started.id}", 303)


@router.get("/publications/{identity}")
def show_publication(request: Request, agent: AgentDep, identity: str) -> Response:
    """Show a publication's progress and result."""
    found = agent.publications.get(identity)
    return page(
        request,
        "publication.html.j2",
        title="Publication",
        here="publish",
        publication=found,
        doing=_doing(found),
    )


@router.get("/publications/{identity}/now")
def read_publication(agent: AgentDep, identity: str) -> Response:
    """Return a publication's progress as JSON, for the script of its page."""
    found = agent.publications.get(identity)
    answer: dict[str, Any] = {
        "state": found.state,
        "doing": _doing(found),
        "done": found.parts_sent,
        "total": found.parts,
    }
    return JSONResponse(answer)


def _form(
    request: Request,
    agent: Agent,
    site: Site,
    chosen: CorrectionChoice | None = None,
    error: PramanaError | None = None,
) -> Response:
    approval = Approval.of(site)
    plan, miner = planned(site), site.miner
    now = _prepared(site, agent.environment)
    found = None if now is None else Corrected.of(now, site.file.corrections)
    losses = None if now is None else losses_by(now)
    last = agent.publications.last()
    return page(
        request,
        "publish.html.j2",
        title="Publish",
        here="publish",
        status=200 if error is None else error.http_status,
        miner=miner,
        words=plan_words(plan.plan),
        warnings=warnings(plan),
        shown=approval.digest,
        found=found,
        waits=found is not None and found.waits,
        lines=() if found is None else found.lines(),
        chosen=chosen,
        refused=[] if losses is None else _refused(losses),
        sealed=None if now is None else _sealed(site, now),
        last=last,
        error=error,
    )


def _prepared(site: Site, environment: Environment) -> PreparedRecords | None:
    """Prepare the next release; None, without reading the table, if there was no earlier one."""
    if not any(entry.left for entry in Ledger(site.state).entries()):
        return None
    options = PublishOptions(preview=True)
    return PreparedRecords.of(site, lambda _stage, _done, _total: None, options, environment)


def _sealed(site: Site, now: PreparedRecords) -> Entry | None:
    """Return the ledger's sealed release with the same content as the prepared one, or None."""
    miner = site.miner
    entry = Ledger(site.state).find_content(miner.url, miner.study, now.identity)
    return entry if entry is not None and entry.state == "sealed" else None


def _refused(losses: Losses) -> list[tuple[str, str, str]]:
    """Return columns whose added loss the custodian must accept, with losses before and after."""
    rows = (row for row in losses.columns if row["refused_without_accepting"])
    return [(row["column"], before(row), after(row)) for row in rows]


def _doing(publication: Publication) -> str:
    if publication.parts is not None:
        return f"{publication.parts_sent} of {publication.parts} parts have arrived"
    return STAGES.get(publication.stage or "", "preparing the release")

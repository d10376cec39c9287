"""Publishing by her yes, its progress, and the choice where records were corrected."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse

from owner_agent.http import Agent, Publication, PublicationCreate, changed_since_shown
from owner_agent.pages.rendering import AgentDep, SentDep, SiteDep, page
from owner_agent.release.options import STAGES
from owner_agent.report.corrected import corrected_of
from owner_agent.report.losses import losses_of
from owner_agent.report.report import warnings
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.planning import content_digest, planned
from owner_agent.site.site import Site
from pramana_core.errors import OptionError, PramanaError
from pramana_core.pages.forms import ROOT, SentForm
from pramana_core.pages.rendering import plan_words
from pramana_core.progress import unwatched

router = APIRouter()


@router.get("/publish")
def show_form(
    request: Request,
    agent: AgentDep,
    site: SiteDep,
    corrections: Annotated[CorrectionChoice | None, Query()] = None,
) -> Response:
    """Show what would leave, and ask."""
    return _form(request, agent, site, corrections)


@router.post("/publish")
def publish(request: Request, agent: AgentDep, site: SiteDep, sent: SentDep) -> Response:
    """Publish after a yes, as `owner-agent publish` does."""
    chosen = _choice(sent)
    try:
        if sent.text("yes") != "on":
            raise OptionError("Nothing left, for nobody said yes.", where="yes")
        plan = planned(site)
        if sent.text("shown") != content_digest(site, plan):
            raise changed_since_shown("This is what it says now. Look at it, and say yes to that.")
        found = corrected_of(site, plan, unwatched)
        if chosen is None and found is not None and found.waits:
            raise OptionError(
                "Nothing left: records have other values now than when they were reported.",
                where="corrections",
                remedy="Choose below what happens to them.",
            )
        started = agent.publications.start(
            PublicationCreate(
                accept_added_loss=sent.text("accept_added_loss") == "on", corrections=chosen
            ),
            sent.text("shown"),
        )
    except PramanaError as error:
        return _form(request, agent, site, chosen, error)
    return RedirectResponse(f"{ROOT}/publications/{started.id}", 303)


@router.get("/publications/{identity}")
def show_publication(request: Request, agent: AgentDep, identity: str) -> Response:
    """Show a publication while it runs, and how it ended."""
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
    """Return how far a publication is, for the page that follows it."""
    found = agent.publications.get(identity)
    answer: dict[str, Any] = {
        "state": found.state,
        "doing": _doing(found),
        "done": found.parts_sent,
        "total": found.parts,
    }
    return JSONResponse(answer)


@router.get("/corrections")
def show_corrections(request: Request, site: SiteDep) -> Response:
    """Show which records have other values than when they were reported, and the two choices."""
    found = corrected_of(site, planned(site), unwatched)
    return page(
        request,
        "corrections.html.j2",
        title="Corrections",
        here="corrections",
        found=found,
        lines=() if found is None else found.lines(),
        waits=found is not None and found.waits,
    )


def _form(
    request: Request,
    agent: Agent,
    site: Site,
    chosen: CorrectionChoice | None,
    error: PramanaError | None = None,
) -> Response:
    plan, miner = planned(site), site.miner
    found = corrected_of(site, plan, unwatched)
    losses = losses_of(site, plan, () if found is None else found.renewed(chosen))
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
        shown=content_digest(site, plan),
        found=found,
        waits=found is not None and found.waits,
        lines=() if found is None else found.lines(),
        chosen=chosen,
        refused=[] if losses is None else [one for one in losses.columns if one.refused],
        last=last,
        error=error,
    )


def _choice(sent: SentForm) -> CorrectionChoice | None:
    match sent.text("corrections"):
        case "keep":
            return "keep"
        case "fresh":
            return "fresh"
        case _:
            return None


def _doing(publication: Publication) -> str:
    if publication.parts is not None:
        return f"{publication.parts_sent} of {publication.parts} parts have arrived"
    return STAGES.get(publication.stage or "", "looking at what would leave")

"""The local agent over HTTP: status, plan, ledger, and publications one at a time.

Also here:

* Every error of the agent becomes an answer with a problem document here.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from owner_agent.http.publications import (
    Publication,
    PublicationCreate,
    Publications,
    changed_since_shown,
)
from owner_agent.release.ledger import Ledger
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PublishOutcome, publish
from owner_agent.release.randomized import PreparedRecords
from owner_agent.report.of_site import forecast_of, require_accepted, site_report
from owner_agent.report.summaries import ledger_json
from owner_agent.report.whole_study import PeopleStatement, people_told
from owner_agent.site.planning import PlannedSite, content_digest, planned
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import PramanaError, Unauthenticated
from pramana_core.progress import StagedProgress
from pramana_core.wire.base import MAX_RECORDS
from pramana_core.wire.problems import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    problem_of,
    problem_of_status,
)

# Every error of the agent becomes an answer with a problem document here.


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem document."""
    for kind in (PramanaError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _handle)


def _handle(_request: Request, error: Exception) -> Response:
    match error:
        case PramanaError():
            document = problem_of(error)
        case RequestValidationError():
            places = [".".join(str(part) for part in e["loc"]) for e in error.errors()]
            document = invalid_request(f"The request is not well formed at {', '.join(places)}.")
        case HTTPException():
            return _respond(problem_of_status(error.status_code), error.headers)
        case _:
            raise AssertionError("registered for the three classes above")
    return _respond(document)


def _respond(problem: ProblemDetail, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(
        problem.model_dump(mode="json"),
        status_code=problem.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers={"WWW-Authenticate": "Bearer"} if problem.status == 401 else headers,
    )


@dataclass(frozen=True)
class Agent:
    """What the routes need: the site file (read anew each time), the token and publications."""

    site: Path
    token: str
    publications: Publications
    environment: Environment


def create_app(site: Path, token: str, environment: Environment) -> FastAPI:
    """Return the agent's application for a site file."""

    def people() -> str | None:
        told = people_told(load_site(site), environment)
        return told.sentence if isinstance(told, PeopleStatement) else told

    def publish_once(
        request: PublicationCreate, shown: str | None, watch: StagedProgress
    ) -> PublishOutcome:
        def require_shown(now: PlannedSite) -> None:
            if shown not in (None, content_digest(opened, now)):
                raise changed_since_shown("Open the page Publish, and say yes to what it says now.")

        options = PublishOptions(
            request.part_records, request.accept_added_loss, request.corrections
        )
        opened = load_site(site)
        plan = planned(opened)
        require_shown(plan)
        told = forecast_of(opened, plan, environment, request.corrections)
        require_accepted(opened, plan, environment, told)
        return publish(
            PreparedRecords, opened, environment, options, watch,
            lambda made: require_shown(made.plan),
        )  # fmt: skip

    app = FastAPI(title="Pramana owner agent", docs_url=None, redoc_url=None)
    app.state.agent = Agent(site, token, Publications(people, publish_once), environment)
    add_handlers(app)
    app.include_router(_health)
    app.include_router(_routes)
    return app


def _agent(request: Request) -> Agent:
    agent: Agent = request.app.state.agent
    return agent


AgentDependency = Annotated[Agent, Depends(_agent)]


def _authenticate(request: Request, agent: AgentDependency) -> None:
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {agent.token}".encode()):
        raise Unauthenticated(
            "A valid token is needed.",
            remedy="Send the content of agent.token in the state directory as a bearer token.",
        )


_health = APIRouter()
_routes = APIRouter(prefix="/v1", dependencies=[Depends(_authenticate)])


@_health.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the agent is alive."""
    return {"status": "ok"}


@_routes.get("/status")
def status(agent: AgentDependency) -> dict[str, Any]:
    """Return the owner, the study and the newest publication."""
    site = load_site(agent.site)
    last = agent.publications.last()
    return {
        "owner": site.owner,
        "study": site.file.miner.study if site.file.miner else None,
        "publication": last.model_dump(mode="json") if last else None,
    }


@_routes.get("/plan")
def plan(
    agent: AgentDependency,
    records: Annotated[int | None, Query(ge=1, le=MAX_RECORDS)] = None,
) -> Any:
    """Return what publishing would reveal, at the table's number of records or another."""
    return site_report(load_site(agent.site), agent.environment, records).as_dict()


@_routes.get("/ledger")
def ledger(agent: AgentDependency) -> Any:
    """Return everything that ever left."""
    return ledger_json(Ledger(load_site(agent.site).state).entries())


@_routes.post("/publications", status_code=HTTPStatus.ACCEPTED)
def create_publication(
    agent: AgentDependency, response: Response, wanted: PublicationCreate | None = None
) -> Publication:
    """Start a publication of the table as it is now."""
    made = agent.publications.start(wanted or PublicationCreate())
    response.headers["Location"] = f"/v1/publications/{made.id}"
    return made


@_routes.get("/publications/{identity}")
def read_publication(agent: AgentDependency, identity: str) -> Publication:
    """Return how far a publication is."""
    return agent.publications.get(identity)

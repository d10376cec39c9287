"""Conversion of every error into a problem document, without any content of the request."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Scope

from miner_service.store.credentials import without_secrets
from pramana_core.errors import PramanaError, TooManyRequests
from pramana_core.wire.services import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    known_problems,
    problem_of,
    problem_of_status,
    unforeseen,
)

log = logging.getLogger(__name__)

RETRY_SECONDS = 1
_LATER = {429, 503}
_LONGEST_NAME = 64
_MOST_FIELDS = 10


def address_of(scope: Scope) -> str | None:
    """Return the address of a request's sender: behind a trusted proxy, the stated address."""
    return scope["client"][0] if scope.get("client") else None


_KINDS = (PramanaError, RequestValidationError, HTTPException, ClientDisconnect, Exception)


def problem_of_failure(error: Exception, instance: str | None = None) -> ProblemDetail:
    """Return the problem document for an exception; details of unexpected ones are hidden."""
    match error:
        case PramanaError():
            return problem_of(error, instance)
        case RequestValidationError():
            where, detail = _describe_fields(error.errors(), {"body": error.body})
            return invalid_request(detail, where=where, instance=instance)
        case HTTPException():
            return problem_of_status(error.status_code, instance)
        case ClientDisconnect():
            return invalid_request("The request ended before it was complete.", instance=instance)
        case _:
            return unforeseen(instance=instance)


def problem_response(document: ProblemDetail, headers: Mapping[str, str] | None = None) -> Response:
    """Return the HTTP response with a problem document."""
    extra = dict(headers or {})
    if document.status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    if document.status in _LATER:
        extra.setdefault("Retry-After", str(RETRY_SECONDS))
    return JSONResponse(
        document.model_dump(exclude_none=True),
        status_code=document.status,
        headers=extra,
        media_type=PROBLEM_MEDIA_TYPE,
    )


def failure_response(error: Exception, scope: Scope) -> Response:
    """Return the response to a failed request; store its code and reason for metrics and log."""
    state = scope.setdefault("state", {})
    request = state.get("request_id")
    document = problem_of_failure(error, instance=scope["path"])
    state["problem"], state["reason"] = document.code, document.detail
    if document.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        fields = {"path": without_secrets(scope["path"]), "request": request}
        log.error(document.code, extra=fields, exc_info=error)
    document = document.model_copy(update={"request": request})
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.retry_seconds)
    return problem_response(document, headers)


def install(app: FastAPI) -> None:
    """Make an application return every error as a problem document."""
    for kind in _KINDS:
        app.add_exception_handler(kind, _handle)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of a route's problem responses."""
    schema = {"$ref": "#/components/schemas/ProblemDetail"}
    titles = {
        status: "; ".join(
            sorted({title for own, title in known_problems().values() if own == status})
        )
        for status in statuses
    }
    return {
        status: {
            "description": f"Problem. One of: {title}.",
            "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}},
        }
        for status, title in titles.items()
    }


def found_before(model: type, why: str = "It already existed.") -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of status 200 for a route that may find an existing object."""
    return {200: {"model": model, "description": why}}


def say_made(response: Response, new: bool, location: str | None = None) -> None:
    """Set status 201 for a new object or 200 for an existing one, and its location."""
    response.status_code = 201 if new else 200
    if location is not None:
        response.headers["Location"] = location


def methods_at(request: Request) -> str:
    """Return all methods that routes at a request's address accept, sorted."""
    taken: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path_regex.fullmatch(request.url.path):
            taken |= route.methods or set()
    return ", ".join(sorted(taken - {"HEAD"}))


async def _handle(request: Request, error: Exception) -> Response:
    response = failure_response(error, request.scope)
    if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # The router lists only the methods of the first matching route.
        response.headers["Allow"] = methods_at(request)
    return response


def _describe_fields(errors: Iterable[Any], sent: Any) -> tuple[str, str]:
    """Return the invalid fields and the reasons, without the values of the fields."""
    every = list(errors)
    found = [(_place(error, sent), _reason(error)) for error in every[:_MOST_FIELDS]]
    shown = "; ".join(f"{place}: {reason}" for place, reason in found)
    more = len(every) - _MOST_FIELDS
    return found[0][0] if found else "body", shown + (f"; and {more} more" if more > 0 else "")


def _place(error: Mapping[str, Any], sent: Any) -> str:
    """Return the path of an invalid field as the client sent it, without names of message types."""
    location, steps = error["loc"], list[Any]()
    for step in location:
        at_place = isinstance(sent, list) and isinstance(step, int) and step < len(sent)
        if at_place or (isinstance(sent, dict) and step in sent):
            sent = sent[step]
            steps.append(step)
        elif location[0] != "body" or (error["type"] == "missing" and step == location[-1]):
            steps.append(step)
    if error["type"].startswith("union_tag"):
        named = error["ctx"]["discriminator"].strip("'")
        steps.append(named if named.isidentifier() else "kind")
    names = [str(step).encode("utf-8", "replace").decode()[:_LONGEST_NAME] for step in steps]
    return ".".join(names) or "body"


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field"
    if error["type"] == "union_tag_invalid":
        return f"must be one of {error['ctx']['expected_tags']}"
    if error["type"] == "union_tag_not_found":
        return "the field that states the kind is missing"
    if error["type"] == "json_invalid":
        return "not a JSON document"
    return str(error["msg"])

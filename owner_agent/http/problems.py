"""The agent's errors as RFC 9457 problem documents; one place turns exceptions into answers."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from shared.errors import (
    AccessError,
    Forbidden,
    InputError,
    LimitExceeded,
    NotFound,
    PramanaError,
    StateError,
    TransportError,
    Unauthenticated,
)
from shared.wire.base import PROBLEM_MEDIA_TYPE, ProblemDetail

# The first class that an error belongs to decides; a class stands before the class it refines.
_STATUS: tuple[tuple[type[PramanaError], HTTPStatus], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND),
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (InputError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (StateError, HTTPStatus.CONFLICT),
    (AccessError, HTTPStatus.FORBIDDEN),
    (LimitExceeded, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (TransportError, HTTPStatus.BAD_GATEWAY),
)


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem document."""
    app.add_exception_handler(PramanaError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)


def problem_of_error(error: PramanaError) -> ProblemDetail:
    """Return the problem document of an error."""
    status = next(
        (status for kind, status in _STATUS if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    return _problem(status, error.code, error.message, where=error.where, remedy=error.remedy)


def unforeseen() -> ProblemDetail:
    """Return the problem document of an error nobody foresaw: what it says may quote a record."""
    return _problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        "The publication ended with an unforeseen error; the agent's log has it.",
    )


def _on_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, PramanaError)  # noqa: S101 - registered for this class
    return _respond(problem_of_error(error))


def _on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class
    places = [".".join(str(part) for part in e["loc"]) for e in error.errors()]
    return _respond(
        _problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "request-invalid",
            f"The request is not well formed at {', '.join(places)}.",
        )
    )


def _on_http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    found = HTTPStatus(error.status_code)
    code = "not-found" if found is HTTPStatus.NOT_FOUND else "request-invalid"
    return _respond(_problem(found, code, f"{found.phrase}."))


def _problem(
    status: HTTPStatus,
    code: str,
    detail: str,
    where: str | None = None,
    remedy: str | None = None,
) -> ProblemDetail:
    return ProblemDetail(
        type=f"urn:pramana:problem:{code}",
        title=status.phrase,
        status=status.value,
        detail=detail,
        code=code,
        where=where,
        remedy=remedy,
    )


def _respond(problem: ProblemDetail) -> Response:
    return JSONResponse(
        problem.model_dump(mode="json"),
        status_code=problem.status,
        media_type=PROBLEM_MEDIA_TYPE,
        headers={"WWW-Authenticate": "Bearer"} if problem.status == 401 else None,
    )

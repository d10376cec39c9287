"""Error handlers of the agent's servers. Problem documents contain no value of any record."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from pramana_core.errors import PramanaError
from pramana_core.terminal import console
from pramana_core.wire.services import (
    PROBLEM_MEDIA_TYPE,
    ProblemDetail,
    invalid_request,
    problem_of,
    problem_of_status,
)


def report_failure(what: str, error: Exception) -> None:
    """Print an error's class and where it was raised, not its text, which may quote a record."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = f"{what} failed: {type(error).__name__}."
    words += f" It was raised at {Path(place.filename).name}, line {place.lineno}."
    console(stderr=True).print(words, markup=False, soft_wrap=True)


def add_handlers(app: Starlette) -> None:
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

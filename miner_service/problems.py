"""Errors as RFC 9457 problem documents: one table from error code to status and title.

`problem_of_error` is the only place where an exception becomes something the outside sees.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from shared.errors import PramanaError
from shared.wire.base import PROBLEM_MEDIA_TYPE, ProblemDetail

log = logging.getLogger(__name__)

TYPE_PREFIX = "urn:pramana:problem:"
_LONGEST_NAME = 64
_KIND = "kind"
"""The field that tells kinds of jobs apart, which the validator does not name."""

_MOST_FIELDS = 10

_ABSENT = frozenset({"missing", "json_invalid"})
"""Errors whose place ends in what was not sent."""

_ANYTHING = object()
"""Stands for what was sent where that is not known."""

# fmt: off
PROBLEMS: Mapping[str, tuple[int, str]] = {
    "error":                     (500, "Unforeseen error"),
    "input-invalid":             (422, "The input is wrong"),
    "domain-invalid":            (422, "The domain is not one"),
    "unknown-variable":          (422, "Unknown variable"),
    "unknown-category":          (422, "Unknown category"),
    "channel-invalid":           (422, "The transition matrix is not one"),
    "channel-not-stochastic":    (422, "A row of the transition matrix does not sum to 1"),
    "channel-singular":          (422, "The transition matrix has no inverse"),
    "plan-invalid":              (422, "The plan is not consistent"),
    "sensitive-without-channel": (422, "A sensitive variable is not randomized"),
    "plan-conflict":             (409, "Released before under another randomization"),
    "records-corrected":         (409, "Records were corrected since they were reported"),
    "structure-invalid":         (422, "The structure is not a network"),
    "option-invalid":            (422, "An option is out of range"),
    "config-invalid":            (422, "The configuration is wrong"),
    "table-invalid":             (422, "The table is wrong"),
    "table-unreadable":          (422, "The table cannot be read"),
    "table-empty":               (422, "There are no records"),
    "column-missing":            (422, "A column is missing"),
    "record-id-missing":         (422, "Record ids are missing"),
    "record-id-duplicate":       (422, "Record ids occur twice"),
    "key-file":                  (500, "A secret of the service is absent or unsafe"),
    "estimation-failed":         (422, "The data cannot support the estimate"),
    "not-converged":             (422, "The estimate did not converge"),
    "state":                     (409, "The state forbids the request"),
    "not-found":                 (404, "Not found"),
    "conflict":                  (409, "In conflict with what is stored"),
    "part-digest-mismatch":      (409, "The bytes are not those announced"),
    "part-invalid":              (422, "The part does not hold what was announced"),
    "part-conflict":             (409, "The part is stored with other bytes"),
    "release-incomplete":        (409, "Parts of the release are missing"),
    "release-not-open":          (409, "The release takes no more parts"),
    "budget-exceeded":           (409, "More than the study's privacy budget leaves"),
    "records-do-not-align":      (409, "The owners' records are not the same"),
    "variables-missing":         (409, "Variables are not reported"),
    "not-ready":                 (503, "Not ready"),
    "not-installed":             (501, "An optional extra is not installed"),
    "job-cancelled":             (409, "The job was cancelled"),
    "counts-too-small":          (409, "Exact parameters would rest on too few records"),
    "other-groupings":           (409, "Exact parameters would tell a column by other groupings"),
    "noise-spent":               (409, "More counts with noise would cost more than is allowed"),
    "session-ended":             (409, "The joint session was ended"),
    "store-corrupt":             (500, "Stored data are damaged"),
    "access":                    (403, "Not allowed"),
    "unauthenticated":           (401, "A valid token is needed"),
    "forbidden":                 (403, "Not allowed"),
    "limit-exceeded":            (413, "Larger than this service allows"),
    "transport":                 (502, "Another service did not answer as agreed"),
    "miner-unreachable":         (502, "The miner did not answer"),
    "miner-refused":             (502, "The miner refused"),
    "peer-unreachable":          (502, "Another owner did not answer"),
    "peer-deviated":             (502, "Another owner did not do as announced"),
    # Codes of HTTP itself, which no class of shared.errors has:
    "request-invalid":           (422, "The request is not well formed"),
    "method-not-allowed":        (405, "The resource does not take this method"),
    "internal":                  (500, "Internal error"),
}
# fmt: on

_KINDS = (
    PramanaError,
    RequestValidationError,
    HTTPException,
    ClientDisconnect,
    OperationalError,
    Exception,
)

HTTP_CODES = frozenset({"request-invalid", "method-not-allowed", "internal"})
RETRY_SECONDS = 1


def problem(
    code: str,
    detail: str,
    *,
    where: str | None = None,
    remedy: str | None = None,
    instance: str | None = None,
) -> ProblemDetail:
    """Return the problem document of a code of the table."""
    status, title = PROBLEMS[code]
    return ProblemDetail(
        type=TYPE_PREFIX + code,
        title=title,
        status=status,
        detail=detail,
        code=code,
        where=where,
        remedy=remedy,
        instance=instance,
    )


def problem_of_error(error: Exception, instance: str | None = None) -> ProblemDetail:
    """Return what the outside sees of an exception; of an unforeseen one, nothing but that."""
    if isinstance(error, PramanaError):
        return problem(
            error.code,
            error.message,
            where=error.where,
            remedy=error.remedy,
            instance=instance,
        )
    if isinstance(error, RequestValidationError):
        where, detail = _describe_fields(error.errors(), {"body": error.body})
        return problem("request-invalid", detail, where=where, instance=instance)
    if isinstance(error, HTTPException):
        return _problem_of_http(error, instance)
    if isinstance(error, ClientDisconnect):
        return problem("request-invalid", "The request ended before it was whole.")
    if isinstance(error, OperationalError):
        return problem(
            "not-ready",
            "The database does not answer.",
            remedy="Send the request again.",
            instance=instance,
        )
    return problem(
        "internal",
        "The service failed in a way it did not foresee; nothing was changed by this request.",
        remedy="Tell whoever runs the service; its log has the cause.",
        instance=instance,
    )


def problem_response(document: ProblemDetail, headers: Mapping[str, str] | None = None) -> Response:
    """Return the HTTP response that carries a problem document."""
    extra = dict(headers or {})
    if document.status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    if document.status == 503:
        extra["Retry-After"] = str(RETRY_SECONDS)
    return JSONResponse(
        document.model_dump(exclude_none=True),
        status_code=document.status,
        headers=extra,
        media_type=PROBLEM_MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    """Make every error of an application a problem document."""
    for kind in _KINDS:
        app.add_exception_handler(kind, _handle)


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI description of the problems a route may answer with."""
    schema = {"$ref": "#/components/schemas/ProblemDetail"}
    titles = {status: _titles(status) for status in statuses}
    return {
        status: {"description": title, "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}
        for status, title in titles.items()
    }


def _titles(status: int) -> str:
    titles = sorted({title for code, (s, title) in PROBLEMS.items() if s == status})
    return "Problem. One of: " + "; ".join(titles) + "."


async def _handle(request: Request, error: Exception) -> Response:
    document = problem_of_error(error, instance=request.url.path)
    if document.code in {"internal", "store-corrupt"} or isinstance(error, OperationalError):
        log.error("%s at %s", document.code, request.url.path, exc_info=error)
    headers = error.headers if isinstance(error, HTTPException) else None
    return problem_response(document, headers)


def _problem_of_http(error: HTTPException, instance: str | None) -> ProblemDetail:
    if error.status_code == 404:
        return problem("not-found", "There is nothing at this address.", instance=instance)
    if error.status_code == 405:
        return problem(
            "method-not-allowed",
            "The resource does not take this method.",
            remedy="The Allow header lists those it takes.",
            instance=instance,
        )
    if error.status_code < 500:
        return problem("request-invalid", "The request cannot be read.", instance=instance)
    return problem("internal", "The request failed.", instance=instance)


def _describe_fields(errors: Iterable[Any], sent: Any) -> tuple[str, str]:
    """Name the fields that are wrong and why, never what was in them."""
    found = [(".".join(_place(error, sent)), _numbered(error) + _reason(error)) for error in errors]
    shown = "; ".join(f"{place}: {reason}" for place, reason in found[:_MOST_FIELDS])
    more = len(found) - _MOST_FIELDS
    return found[0][0] if found else "body", shown + (f"; and {more} more" if more > 0 else "")


def _place(error: Mapping[str, Any], sent: Any) -> list[str]:
    """Return where an error is, in the words of what was sent."""
    steps = _without_tags(error, sent)
    if error["type"].startswith("union_tag"):
        named = error["ctx"]["discriminator"].strip("'")
        steps.append(named if named.isidentifier() else _KIND)
    return [str(step).encode("utf-8", "replace").decode()[:_LONGEST_NAME] for step in steps] or [
        "body"
    ]


def _without_tags(error: Mapping[str, Any], sent: Any) -> list[str | int]:
    """Leave out the steps that name a kind of message or of value: the sender wrote none."""
    location: Sequence[str | int] = error["loc"]
    absent = error["type"] in _ABSENT
    steps: list[str | int] = []
    for number, step in enumerate(location):
        inner = _inside(sent, step)
        if inner is None and number and not (absent and number == len(location) - 1):
            continue
        steps.append(step)
        sent = _ANYTHING if inner is None else inner[0]
    return steps


def _inside(sent: Any, step: str | int) -> tuple[Any] | None:
    """Return what was sent under a step, in a tuple; None if the step leads nowhere."""
    if sent is _ANYTHING:
        return (sent,)
    if isinstance(sent, dict):
        return (sent[step],) if step in sent else None
    if isinstance(sent, list) and isinstance(step, int) and step < len(sent):
        return (sent[step],)
    return None


def _numbered(error: Mapping[str, Any]) -> str:
    """Name the record that an error is about, as all other errors about records count them."""
    match tuple(error["loc"]):
        case ("body", "records", int(place), *_):
            return f"record {place + 1}: "
    return ""


def _reason(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "this field is not known"
    if error["type"] == "union_tag_invalid":
        return f"must be one of {error['ctx']['expected_tags']}"
    if error["type"] == "union_tag_not_found":
        return "does not say of which kind it is"
    if error["type"] == "json_invalid":
        return "not a JSON document"
    return str(error["msg"])

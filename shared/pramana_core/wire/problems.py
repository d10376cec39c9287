"""Problem documents (RFC 9457): what of an error is told over HTTP, by all services alike.

Status and title of an error are those of its class; the codes of HTTP itself are here.
"""

from __future__ import annotations

from collections.abc import Mapping

from pramana_core.errors import InputError, NotFound, PramanaError, Refused, error_classes
from pramana_core.wire.base import Message

PROBLEM_MEDIA_TYPE = "application/problem+json"

_TYPE_PREFIX = "urn:pramana:problem:"

HTTP_PROBLEMS: Mapping[str, tuple[int, str]] = {
    "request-invalid": (422, "The request is not well formed"),
    "method-not-allowed": (405, "The resource does not take this method"),
    "request-timeout": (408, "The request came too slowly"),
    "internal": (500, "Internal error"),
}
"""Status and title of the codes that no class of `pramana_core.errors` has."""


class ProblemDetail(Message):
    """An RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str | None = None
    remedy: str | None = None
    instance: str | None = None


def known_problems() -> dict[str, tuple[int, str]]:
    """Return the status and title of every code."""
    of_errors = {kind.code: (kind.http_status, kind.title) for kind in error_classes()}
    return {**of_errors, **HTTP_PROBLEMS}


def problem_of(error: PramanaError, instance: str | None = None) -> ProblemDetail:
    """Return the problem document of an error; `instance` is the path that was asked."""
    return ProblemDetail(
        type=_TYPE_PREFIX + error.code,
        title=error.title,
        status=error.http_status,
        detail=error.message,
        code=error.code,
        where=error.where,
        remedy=error.remedy,
        instance=instance,
    )


def invalid_request(
    detail: str, *, where: str | None = None, instance: str | None = None
) -> ProblemDetail:
    """Return the problem document of a request that cannot be read."""
    return _http_problem("request-invalid", detail, where=where, instance=instance)


def unforeseen(
    detail: str = "The service failed in a way it did not foresee; nothing was changed by this"
    " request.",
    *,
    remedy: str | None = "Tell whoever runs the service; its log has the cause.",
    instance: str | None = None,
) -> ProblemDetail:
    """Return the problem document of an error nobody foresaw.

    The text of the error stays out: it may quote a record.
    """
    return _http_problem("internal", detail, remedy=remedy, instance=instance)


def problem_of_status(status: int, instance: str | None = None) -> ProblemDetail:
    """Return the problem document of a request that no route could answer."""
    if status == NotFound.http_status:
        return problem_of(NotFound("There is nothing at this address."), instance)
    if status == HTTP_PROBLEMS["method-not-allowed"][0]:
        return _http_problem(
            "method-not-allowed",
            "The resource does not take this method.",
            remedy="The Allow header lists those it takes.",
            instance=instance,
        )
    if status == HTTP_PROBLEMS["request-timeout"][0]:
        return _http_problem(
            "request-timeout",
            "The body of the request came too slowly, or not at all.",
            remedy="Send it again, over a better line or in smaller parts.",
            instance=instance,
        )
    if status < 500:
        return invalid_request("The request cannot be read.", instance=instance)
    return unforeseen("The request failed.", remedy=None, instance=instance)


def read_problem(body: bytes) -> ProblemDetail | None:
    """Read a problem document, or None if the body is not one."""
    try:
        return ProblemDetail.model_validate_json(body)
    except ValueError:
        return None


def error_of(problem: ProblemDetail) -> PramanaError:
    """Return the error that a problem document tells of, of the class that has its code.

    One of a code that no class has, or of a class that says more than words, is Refused.
    """
    kind = next((kind for kind in error_classes() if kind.code == problem.code), Refused)
    if problem.code == "request-invalid":
        kind = InputError
    if issubclass(kind, Refused):
        return Refused(
            f"The miner refused ({problem.status} {problem.code}): {problem.detail}",
            status=problem.status,
            problem_code=problem.code,
            remedy=problem.remedy,
        )
    return kind(problem.detail, where=problem.where, remedy=problem.remedy)


def _http_problem(code: str, detail: str, **more: str | None) -> ProblemDetail:
    status, title = HTTP_PROBLEMS[code]
    return ProblemDetail(
        type=_TYPE_PREFIX + code, title=title, status=status, detail=detail, code=code, **more
    )

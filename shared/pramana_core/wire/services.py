"""What all services share: addresses, the protocol version, problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from pramana_core.errors import InputError, NotFound, PramanaError, Refused, error_classes
from pramana_core.wire.base import Message

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names of this machine. Plain http to one of them reveals the token to no other machine."""


def is_loopback(url: str) -> bool:
    """Return whether an address belongs to this machine."""
    return urlsplit(url).hostname in LOOPBACK


def require_address(url: str, *, allow_insecure: bool, permission: str) -> None:
    """Check an address before a token is sent to it. `permission` says how to allow plain http.

    Raises ValueError: the address is invalid, has more than a host and a path, or would carry the
    token unencrypted to another machine.
    """
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        # The address is not quoted, because it may contain a password.
        raise ValueError("the address must consist of a host and a path only")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https address")
    if parts.port == 0:  # a port beyond 65,535 raises here
        raise ValueError(f"{url!r} has port 0, on which no service can listen")
    if parts.scheme == "http" and not is_loopback(url) and not allow_insecure:
        raise ValueError(
            f"{url!r} would carry the token unencrypted; use https, or {permission} if the network"
            " itself is private"
        )


PROTOCOL = "1"
"""The protocol version of the service; requests that name another version are rejected."""

PROTOCOL_HEADER = "Pramana-Protocol"
"""The header of requests and responses; a request without it uses the version of the service."""

IDEMPOTENCY_HEADER = "Idempotency-Key"
"""The header that identifies a repeated request that has no natural key."""

SHORTEST_KEY = 32
"""Minimum characters of a key. A token is derived from the key, so the key must be unguessable."""

LONGEST_KEY = 255

PROBLEM_MEDIA_TYPE = "application/problem+json"

_TYPE_PREFIX = "urn:pramana:problem:"

HTTP_PROBLEMS: Mapping[str, tuple[int, str]] = {
    "request-invalid": (422, "The request is not well formed"),
    "method-not-allowed": (405, "The resource does not support this method"),
    "request-timeout": (408, "The request arrived too slowly"),
    "internal": (500, "Internal error"),
}
"""The status and the title of each code that is not in `pramana_core.errors`."""


class ProblemDetail(Message):
    """An RFC 9457 problem document; `request` identifies the request in the service's log."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: str | None = None
    remedy: str | None = None
    instance: str | None = None
    request: str | None = None


def known_problems() -> dict[str, tuple[int, str]]:
    """Return the status and title of every code."""
    of_errors = {kind.code: (kind.http_status, kind.title) for kind in error_classes()}
    return {**of_errors, **HTTP_PROBLEMS}


def problem_of(error: PramanaError, instance: str | None = None) -> ProblemDetail:
    """Return the problem document of an error; `instance` is the path of the request."""
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
    """Return the problem document for an unreadable request."""
    return _http_problem("request-invalid", detail, where=where, instance=instance)


def unforeseen(
    detail: str = "The service failed unexpectedly; this request changed nothing.",
    *,
    remedy: str | None = "Inform the operator of the service; its log has the cause.",
    instance: str | None = None,
) -> ProblemDetail:
    """Return the problem document for an unexpected error.

    The document omits the error's own text, which may quote a record.
    """
    return _http_problem("internal", detail, remedy=remedy, instance=instance)


_WITHOUT_ROUTE = {
    405: ("method-not-allowed", "The resource does not support this method.", "See Allow."),
    408: ("request-timeout", "The body arrived too slowly, or not at all.", "Send smaller parts."),
}


def problem_of_status(status: int, instance: str | None = None) -> ProblemDetail:
    """Return the problem document for a request to which no route responded."""
    if status == NotFound.http_status:
        return problem_of(NotFound("This address does not exist."), instance)
    if status in _WITHOUT_ROUTE:
        code, detail, remedy = _WITHOUT_ROUTE[status]
        return _http_problem(code, detail, remedy=remedy, instance=instance)
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
    """Return the error that a problem document describes.

    Its class is the one with the document's code, or Refused if no class has that code.
    """
    kind = next((kind for kind in error_classes() if kind.code == problem.code), Refused)
    if problem.code == "request-invalid":
        kind = InputError
    if issubclass(kind, Refused):
        return Refused(
            f"The miner rejected the request ({problem.status} {problem.code}): {problem.detail}",
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

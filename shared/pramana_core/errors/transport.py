"""The other side did not answer as agreed."""

from __future__ import annotations

from pramana_core.errors.base import PramanaError


class TransportError(
    PramanaError,
    code="transport",
    title="Another service did not answer as agreed",
    http_status=502,
    exit_code=5,
):
    """The other side did not answer as agreed."""


class Unreachable(TransportError, code="miner-unreachable", title="The miner did not answer"):
    """No answer, or none that speaks the contract, after all retries."""


class Refused(TransportError, code="miner-refused", title="The miner refused", exit_code=4):
    """The miner answered with a problem document.

    `status` is the HTTP status and `problem_code` the miner's stable code.
    """

    def __init__(
        self, message: str, *, status: int, problem_code: str, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=problem_code, remedy=remedy)
        self.status = status
        self.problem_code = problem_code


class PeerUnreachable(
    TransportError, code="peer-unreachable", title="Another owner did not answer"
):
    """Another owner did not answer, not in time, or not as an owner's agent does."""


class PeerDeviated(
    TransportError, code="peer-deviated", title="Another owner did not do as announced"
):
    """Another owner sent other data than it announced, or the owners disagree on a result."""

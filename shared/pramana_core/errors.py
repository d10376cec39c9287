"""Every error Pramana raises on purpose, in one tree; each class has one stable code and title.

Under `PramanaError` are `InputError` (what was given is wrong, and the giver can mend it),
`KeyFileError`, `EstimationError`, `StateError` (what is stored forbids the request), `Forbidden`,
`LimitExceeded` and `TransportError` (the other side did not answer as agreed).

An error says what was wrong (`message`), where (`where`, machine-readable) and what to do
(`remedy`). None may carry a true value of a sensitive column. How it is told over HTTP is in
`pramana_core.wire.services`. Tracebacks call each class as users do: `pramana.InputError`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from typing import ClassVar

PUBLIC = "pramana"
"""The package that users take these classes from, all of them."""


class PramanaError(Exception):
    """The base class of all errors of this package; `str(error)` is the message, then the remedy.

    Each class has a code and a title of its own, and inherits `http_status` and `exit_code` unless
    it sets them.

    Attributes:
        message: what was wrong.
        where: the parameter, column or field that was wrong, where there is one.
        remedy: what to do, where that is not in the message.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.example("iris")
        ... except pm.PramanaError as error:
        ...     print(error.code, error.where)
        option-invalid name
    """

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Unforeseen error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    """What a command ends with: 1 unforeseen, 2 input, 3 keys, 4 refused by state or rights,
    5 transport, 6 estimation."""

    def __init_subclass__(
        cls, *, code: str, title: str, http_status: int | None = None, exit_code: int | None = None
    ) -> None:
        cls.code, cls.title = code, title
        if cls.__module__ == __name__:
            cls.__module__ = PUBLIC
        cls.http_status = cls.http_status if http_status is None else http_status
        cls.exit_code = cls.exit_code if exit_code is None else exit_code

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Not by its arguments: a class may take more of them than its message.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


PramanaError.__module__ = PUBLIC


def error_classes() -> Iterator[type[PramanaError]]:
    """Yield every class of the tree, root first (for tables that must be complete)."""
    pending: list[type[PramanaError]] = [PramanaError]
    for current in pending:
        yield current
        pending += current.__subclasses__()


# What was given is wrong, is no key, or cannot support what was asked of it.


class InputError(
    PramanaError, code="input-invalid", title="The input is wrong", http_status=422, exit_code=2
):
    """Something that was passed is wrong, and whoever passed it can correct it."""


class DomainError(InputError, code="domain-invalid", title="The domain is invalid"):
    """A variable or domain that cannot exist: no categories, a name twice."""


class UnknownVariable(InputError, code="unknown-variable", title="Unknown variable"):
    """A variable that the domain at hand does not have."""


class UnknownCategory(InputError, code="unknown-category", title="Unknown category"):
    """A category that the variable does not have."""


class ChannelError(InputError, code="channel-invalid", title="The transition matrix is invalid"):
    """A transition matrix that is not one, or does not fit its variables."""


class SingularChannel(
    ChannelError, code="channel-singular", title="The transition matrix has no inverse"
):
    """The inverse was asked of a transition matrix that has none."""


class PlanError(InputError, code="plan-invalid", title="The plan is not consistent"):
    """Blocks that overlap, leave a variable out or name one that is not there."""


class UnprotectedVariable(
    PlanError, code="sensitive-without-channel", title="A sensitive variable is not randomized"
):
    """A sensitive variable would leave its owner unrandomized."""


class PlanConflict(
    PlanError,
    code="plan-conflict",
    title="Released before under another randomization",
    http_status=409,
):
    """The same variable was already released under a different randomization."""


class RecordsCorrected(
    PlanConflict, code="records-corrected", title="Records were corrected since they were reported"
):
    """Records that were reported before have other values now, and nobody said what to do."""


class RecordsExchanged(
    PlanConflict, code="records-exchanged", title="Many records are others than were reported"
):
    """Many records are gone or new since the last release, and nobody said whose they are."""


class StructureError(InputError, code="structure-invalid", title="The structure is not a network"):
    """A network structure with a cycle, an unknown node or a repeated parent."""


class OptionError(InputError, code="option-invalid", title="An option is out of range"):
    """An option outside its range."""


class ProtocolUnsupported(
    InputError,
    code="protocol-unsupported",
    title="The version of the protocol is not served",
    http_status=400,
):
    """Client and miner have no version of the protocol in common."""


class ConfigError(InputError, code="config-invalid", title="The configuration is wrong"):
    """A configuration file that cannot be read or says something impossible."""


class TableError(InputError, code="table-invalid", title="The table is wrong"):
    """The owner's table does not match what its configuration says."""


class EmptyTable(TableError, code="table-empty", title="There are no records"):
    """The table has no rows."""


class MissingColumn(TableError, code="column-missing", title="A column is missing"):
    """A configured column is not in the table."""


class DuplicateRecordId(TableError, code="record-id-duplicate", title="Record ids occur twice"):
    """Some record ids occur more than once."""


class MaskingError(InputError, code="masking-invalid", title="The columns cannot be masked so"):
    """Numeric columns cannot be masked as asked, or it would release true values."""


class ModelError(InputError, code="model-invalid", title="The shared tree is wrong"):
    """A tree or a global model whose parts contradict one another."""


class RequirementUnmet(InputError, code="requirement-unmet", title="No tree meets the requirement"):
    """However a tree is pruned, nothing is left of it that is anonymous enough."""


class KeyFileError(
    PramanaError, code="key-file", title="A secret of the service is absent or unsafe", exit_code=3
):
    """A secret is absent, weak, a documented example, or readable by others."""


class EstimationError(
    PramanaError,
    code="estimation-failed",
    title="The data cannot support the estimate",
    http_status=422,
    exit_code=6,
):
    """The counts cannot support the estimate that was asked."""


class NotConverged(EstimationError, code="not-converged", title="The estimate did not converge"):
    """An iteration reached its limit before its stated tolerance."""


# What is stored, who asks, or how much it is forbids the request.


class StateError(
    PramanaError, code="state", title="The state forbids the request", http_status=409, exit_code=4
):
    """What is stored forbids the request; nothing was changed."""


class NotFound(StateError, code="not-found", title="Not found", http_status=404):
    """No such resource, or none that this caller may see."""


class Conflict(StateError, code="conflict", title="In conflict with what is stored"):
    """The same key was used before with other content."""


class ChangedSinceShown(
    StateError, code="changed-since-shown", title="It changed since it was shown"
):
    """Somebody agreed to what was shown, and something else would be done now."""


class PartInvalid(
    StateError,
    code="part-invalid",
    title="The part does not hold what was announced",
    http_status=422,
):
    """The bytes are those announced but do not hold what the release announced."""


class BudgetExceeded(
    StateError, code="budget-exceeded", title="More than the study's privacy budget leaves"
):
    """A release would tell more than the study's budget of epsilon leaves."""


class StudyPlanNotFollowed(
    StateError, code="study-plan-not-followed", title="The release does not follow the study's plan"
):
    """A release randomizes other than the plan that the owners of the study agreed on."""


class LinkageDiffers(StateError, code="linkage-differs", title="The linkage secret is another one"):
    """A release was made under another linkage secret than those of the study's other owners."""


class RecordsDoNotAlign(
    StateError, code="records-do-not-align", title="The owners' records are not the same"
):
    """The owners' records are not the same set."""


class VariablesMissing(StateError, code="variables-missing", title="Variables are not reported"):
    """No sealed release reports a variable that the job needs."""


class NotReady(StateError, code="not-ready", title="Not ready", http_status=503):
    """The result is not there yet."""


class StorageFull(StateError, code="storage-full", title="No room to store it", http_status=507):
    """The disk, or the store of objects, has no room; nothing was changed."""


class TooManyRequests(
    StateError, code="too-many-requests", title="Too many requests at once", http_status=429
):
    """Somebody sends more, or more at once, than the service takes from one; it may wait.

    Attributes:
        retry_seconds: after how many seconds the next try can succeed.
    """

    retry_seconds: int = 1


class NotInstalled(
    StateError, code="not-installed", title="An optional extra is not installed", http_status=501
):
    """What was asked needs an optional extra that is not installed here."""


class NotFitted(StateError, AttributeError, code="not-fitted", title="Nothing was learned yet"):
    """An estimator was asked for something that it only has after `fit`.

    It is an `AttributeError` too, so that `hasattr(model, "classes_")` is False before `fit`.
    """


class JobCancelled(StateError, code="job-cancelled", title="The job was cancelled"):
    """The job was cancelled while it ran."""


class SmallCounts(
    StateError, code="counts-too-small", title="Exact parameters would rest on too few records"
):
    """Exact parameters would rest on fewer records than the custodian allows."""


class OtherGroupings(
    StateError,
    code="other-groupings",
    title="Exact parameters would reveal other groupings of a column",
):
    """Exact parameters by two groupings of a column would reveal the records between them."""


class SessionEnded(StateError, code="session-ended", title="The joint session was ended"):
    """A joint session was ended before its result: interrupted, or past its deadline."""


class StoreCorrupt(
    StateError, code="store-corrupt", title="Stored data are damaged", http_status=500
):
    """Stored bytes are not those that were acknowledged."""


class HistoryLost(
    StoreCorrupt,
    code="history-lost",
    title="It is not known what has left",
    http_status=409,
):
    """A state directory does not know all that left from it, or may have left."""


class WorkerLost(StateError, code="worker-lost", title="Its worker was lost", http_status=500):
    """A job was given up: its worker ended in the middle of it, time after time."""


class Forbidden(PramanaError, code="forbidden", title="Not allowed", http_status=403, exit_code=4):
    """The caller may not do this: the token is good, but not for that."""


class Unauthenticated(
    Forbidden, code="unauthenticated", title="A valid token is needed", http_status=401
):
    """No token, or one that is wrong, expired or revoked."""


class LimitExceeded(
    PramanaError,
    code="limit-exceeded",
    title="Larger than this service allows",
    http_status=413,
    exit_code=4,
):
    """A request or computation is larger than the service allows."""


def require_at_most(
    number: float, most: float, what: str, where: str | None = None, remedy: str | None = None
) -> None:
    """Check that there are at most so many of what is counted. Raises LimitExceeded."""
    if number > most:
        raise LimitExceeded(
            f"There would be {number:,} {what}; {most:,} are allowed.", where=where, remedy=remedy
        )


# The other side did not answer as agreed.


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

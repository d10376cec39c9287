"""Every error that Pramana raises on purpose, in one tree, with a table of codes and statuses.

An error states the problem (`message`), its location (`where`) and the solution (`remedy`), but no
true value of a sensitive column. `pramana_core.wire.services` sends errors over HTTP.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

PUBLIC = "pramana"
"""The package that users import these classes from."""


_TABLE: Mapping[str, tuple[Any, ...]] = {
    "InputError": ("input-invalid", "The input is invalid", 422, 2),
    "DomainError": ("domain-invalid", "The domain is invalid"),
    "UnknownVariable": ("unknown-variable", "Unknown variable"),
    "UnknownCategory": ("unknown-category", "Unknown category"),
    "ChannelError": ("channel-invalid", "The transition matrix is invalid"),
    "PlanError": ("plan-invalid", "The plan is not consistent"),
    "UnprotectedVariable": ("sensitive-without-channel", "A sensitive variable is not randomized"),
    "PlanConflict": ("plan-conflict", "Already released under another randomization", 409),
    "RecordsCorrected": ("records-corrected", "Records have changed since their report"),
    "RecordsExchanged": ("records-exchanged", "Many records were added or removed"),
    "StructureError": ("structure-invalid", "The structure is not a network"),
    "OptionError": ("option-invalid", "An option is out of range"),
    "ProtocolUnsupported": (
        "protocol-unsupported",
        "The protocol version is not supported",
        400,
    ),
    "ConfigError": ("config-invalid", "The configuration is invalid"),
    "TableError": ("table-invalid", "The table is invalid"),
    "DuplicateRecordId": ("record-id-duplicate", "Record ids occur twice"),
    "ModelError": ("model-invalid", "The shared model is invalid"),
    "RequirementUnmet": ("requirement-unmet", "No tree meets the requirement"),
    "KeyFileError": ("key-file", "A secret of the service is missing or unsafe", 500, 3),
    "EstimationError": ("estimation-failed", "The data cannot support the estimate", 422, 6),
    "NotConverged": ("not-converged", "The estimate did not converge"),
    "StateError": ("state", "The state forbids the request", 409, 4),
    "NotFound": ("not-found", "Not found", 404),
    "Conflict": ("conflict", "The request conflicts with stored data"),
    "ChangedSinceShown": ("changed-since-shown", "The data changed since the preview"),
    "PartInvalid": ("part-invalid", "The part differs from its announcement", 422),
    "BudgetExceeded": ("budget-exceeded", "The study's privacy budget is exceeded"),
    "StudyPlanNotFollowed": (
        "study-plan-not-followed",
        "The release does not follow the study's plan",
    ),
    "LinkageDiffers": ("linkage-differs", "The linkage secrets differ"),
    "RecordsDoNotAlign": ("records-do-not-align", "The owners' records differ"),
    "VariablesMissing": ("variables-missing", "Variables are not reported"),
    "NotReady": ("not-ready", "Not ready", 503),
    "StorageFull": ("storage-full", "The storage is full", 507),
    "TooManyRequests": ("too-many-requests", "Too many requests at once", 429),
    "NotInstalled": ("not-installed", "An optional extra is not installed", 501),
    "SmallCounts": ("counts-too-small", "Too few records for exact parameters"),
    "OtherGroupings": (
        "other-groupings",
        "Exact parameters would reveal other groupings of a column",
    ),
    "SessionEnded": ("session-ended", "The joint session was ended"),
    "StoreCorrupt": ("store-corrupt", "Stored data are damaged", 500),
    "SchemaUnsupported": (
        "schema-unsupported",
        "Another version of the miner made the database",
    ),
    "HistoryLost": ("history-lost", "The history of releases is incomplete", 409),
    "WorkerLost": ("worker-lost", "The job's worker ended", 500),
    "Forbidden": ("forbidden", "Not allowed", 403, 4),
    "Unauthenticated": ("unauthenticated", "A valid token is needed", 401),
    "LimitExceeded": ("limit-exceeded", "Larger than the service allows", 413, 4),
    "TransportError": ("transport", "Another service did not answer as specified", 502, 5),
    "Unreachable": ("miner-unreachable", "The miner did not answer"),
    "Refused": ("miner-refused", "The miner rejected the request", 502, 4),
    "PeerUnreachable": ("peer-unreachable", "Another owner did not answer"),
    "PeerDeviated": ("peer-deviated", "Another owner departed from the protocol"),
}
"""The code, title, HTTP status and exit code of each class; missing values come from its base."""


class PramanaError(Exception):
    """The base class of all errors of this package. `str(error)` is the message, then the remedy.

    Code, title, HTTP status and exit code come from `_TABLE` or are inherited from the base class.

    Attributes:
        message: the problem.
        where: the invalid parameter, column or field, or None.
        remedy: what to do, or None if the message says it.

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
    """A command's exit code: 1 unforeseen, 2 input, 3 keys, 4 rejected, 5 transport, 6 estimate."""

    def __init_subclass__(cls) -> None:
        cls.__module__ = PUBLIC
        inherited = cls.code, cls.title, cls.http_status, cls.exit_code
        own = _TABLE.get(cls.__name__, ())
        cls.code, cls.title, cls.http_status, cls.exit_code = own + inherited[len(own) :]

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[object, ...]:
        # Without calling the class, because a subclass may take more arguments than a message.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


PramanaError.__module__ = PUBLIC


def error_classes() -> Iterator[type[PramanaError]]:
    """Yield every class of the tree, root first, for tables that must be complete."""
    pending: list[type[PramanaError]] = [PramanaError]
    for current in pending:
        yield current
        pending += current.__subclasses__()


class InputError(PramanaError):
    """An invalid input that the caller can correct.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.Domain.of(sex=["f", "f"])
        ... except pm.InputError as error:
        ...     print(type(error).__name__)
        DomainError
    """


class DomainError(InputError):
    """An invalid variable or domain, such as one without categories or with a repeated name."""


class UnknownVariable(InputError):
    """A variable that the domain does not contain."""


class UnknownCategory(InputError):
    """A category that the variable does not have."""


class ChannelError(InputError):
    """An invalid transition matrix, or one that does not fit its variables."""


class SingularChannel(ChannelError):
    """A transition matrix that has no inverse."""


class PlanError(InputError):
    """Blocks that overlap, omit a variable or name an unknown one."""


class UnprotectedVariable(PlanError):
    """A sensitive variable that would be released without randomization."""


class PlanConflict(PlanError):
    """A variable that was already released under a different randomization."""


class RecordsCorrected(PlanConflict):
    """Values of reported records have changed, and the owner must decide how to report them."""


class RecordsExchanged(PlanConflict):
    """Many records are missing or new since the last release; the owner must say why."""


class StructureError(InputError):
    """A network structure with a cycle, an unknown node or a repeated parent."""


class OptionError(InputError):
    """An option outside its range."""


class ProtocolUnsupported(InputError):
    """Client and miner have no protocol version in common."""


class ConfigError(InputError):
    """A configuration file that cannot be read or contains an impossible setting."""


class TableError(InputError):
    """The owner's table does not match its configuration."""


class EmptyTable(TableError):
    """The table has no rows."""


class MissingColumn(TableError):
    """A configured column is missing from the table."""


class DuplicateRecordId(TableError):
    """Some record ids occur more than once."""


class MaskingError(InputError):
    """Numeric columns cannot be masked as requested, or the mask would release true values."""


class ModelError(InputError):
    """A tree or a global model whose parts contradict one another."""


class RequirementUnmet(InputError):
    """No pruning of the tree is anonymous enough."""


class KeyFileError(PramanaError):
    """A secret is missing, weak, copied from the documentation, or readable by other users."""


class EstimationError(PramanaError):
    """The counts cannot support the requested estimate."""


class NotConverged(EstimationError):
    """An iteration reached its limit before its stated tolerance."""


class StateError(PramanaError):
    """The stored state forbids the request; nothing was changed."""


class NotFound(StateError):
    """The resource does not exist, or the caller may not see it."""


class Conflict(StateError):
    """The same key was used before with different content."""


class ChangedSinceShown(StateError):
    """The data changed after the user confirmed their preview."""


class PartInvalid(StateError):
    """The bytes have the announced digest, but their content does not fit the announced release."""


class BudgetExceeded(StateError):
    """A release, or all releases of a study together, would exceed the epsilon of the budget."""


class StudyPlanNotFollowed(StateError):
    """A release whose randomization differs from the study plan that the owners agreed on."""


class LinkageDiffers(StateError):
    """A release under a different linkage secret than the study's other releases."""


class RecordsDoNotAlign(StateError):
    """The owners' sets of records differ."""


class VariablesMissing(StateError):
    """No sealed release reports a variable that the job needs."""


class NotReady(StateError):
    """The result is not available yet."""


class StorageFull(StateError):
    """The disk or the object store is full; nothing was changed."""


class TooManyRequests(StateError):
    """Too many requests, in total or at once; retry after `retry_seconds`."""

    retry_seconds: int = 1


class NotInstalled(StateError):
    """The request needs an optional extra that is not installed."""


class NotFitted(StateError, AttributeError):
    """A method or attribute of an estimator that is available only after `fit`.

    Also an `AttributeError`, so that `hasattr(model, "classes_")` is False before `fit`.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.DecisionTree("survived").predict(pm.example("titanic"))
        ... except pm.NotFitted as error:
        ...     print(error)
        This DecisionTree has not learned anything yet; call fit first.
    """


class JobCancelled(StateError):
    """The job was cancelled while it ran."""


class SmallCounts(StateError):
    """Exact parameters would be computed from fewer records than the custodian allows."""


class OtherGroupings(StateError):
    """Two tables of exact parameters that differ in few records would reveal those records."""


class SessionEnded(StateError):
    """A joint session ended before its result: it was interrupted or passed its deadline."""


class StoreCorrupt(StateError):
    """Stored bytes differ from the acknowledged bytes."""


class SchemaUnsupported(StoreCorrupt):
    """The database's tables have a schema that this process cannot upgrade."""


class HistoryLost(StoreCorrupt):
    """A state directory may lack a record of some past releases."""


class WorkerLost(StateError):
    """A job was abandoned because its worker ended repeatedly."""


class Forbidden(PramanaError):
    """The token is valid, but does not permit this request."""


class Unauthenticated(Forbidden):
    """The token is missing, wrong, expired or revoked."""


class LimitExceeded(PramanaError):
    """A request or computation is larger than the service allows."""


def require_at_most(
    number: float, most: float, what: str, where: str | None = None, remedy: str | None = None
) -> None:
    """Check that a count is at most `most`. Raises LimitExceeded."""
    if number > most:
        raise LimitExceeded(
            f"There would be {number:,} {what}; the limit is {most:,}.",
            where=where,
            remedy=remedy,
        )


class TransportError(PramanaError):
    """The other side did not answer as specified."""


class Unreachable(TransportError):
    """The miner gave no valid answer after all retries."""


class Refused(TransportError):
    """The miner answered with a problem document.

    `status` is the HTTP status and `problem_code` the miner's stable code.
    """

    def __init__(
        self, message: str, *, status: int, problem_code: str, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=problem_code, remedy=remedy)
        self.status = status
        self.problem_code = problem_code


class PeerUnreachable(TransportError):
    """Another owner gave no valid answer in time."""


class PeerDeviated(TransportError):
    """Another owner sent data that differ from its announcement, or the owners' results differ."""

"""Every error Pramana raises on purpose, in one tree, with a table of codes and statuses.

An error says what was wrong (`message`), where (`where`) and what to do (`remedy`). None carries a
true value of a sensitive column. `pramana_core.wire.services` sends errors over HTTP.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

PUBLIC = "pramana"
"""The package that users take these classes from, all of them."""


_TABLE: Mapping[str, tuple[Any, ...]] = {
    "InputError": ("input-invalid", "The input is wrong", 422, 2),
    "DomainError": ("domain-invalid", "The domain is invalid"),
    "UnknownVariable": ("unknown-variable", "Unknown variable"),
    "UnknownCategory": ("unknown-category", "Unknown category"),
    "ChannelError": ("channel-invalid", "The transition matrix is invalid"),
    "PlanError": ("plan-invalid", "The plan is not consistent"),
    "UnprotectedVariable": ("sensitive-without-channel", "A sensitive variable is not randomized"),
    "PlanConflict": ("plan-conflict", "Released before under another randomization", 409),
    "RecordsCorrected": ("records-corrected", "Records were corrected since they were reported"),
    "RecordsExchanged": ("records-exchanged", "Many records are others than were reported"),
    "StructureError": ("structure-invalid", "The structure is not a network"),
    "OptionError": ("option-invalid", "An option is out of range"),
    "ProtocolUnsupported": (
        "protocol-unsupported",
        "The version of the protocol is not served",
        400,
    ),
    "ConfigError": ("config-invalid", "The configuration is wrong"),
    "TableError": ("table-invalid", "The table is wrong"),
    "DuplicateRecordId": ("record-id-duplicate", "Record ids occur twice"),
    "ModelError": ("model-invalid", "The shared tree is wrong"),
    "RequirementUnmet": ("requirement-unmet", "No tree meets the requirement"),
    "KeyFileError": ("key-file", "A secret of the service is absent or unsafe", 500, 3),
    "EstimationError": ("estimation-failed", "The data cannot support the estimate", 422, 6),
    "NotConverged": ("not-converged", "The estimate did not converge"),
    "StateError": ("state", "The state forbids the request", 409, 4),
    "NotFound": ("not-found", "Not found", 404),
    "Conflict": ("conflict", "In conflict with what is stored"),
    "ChangedSinceShown": ("changed-since-shown", "It changed since it was shown"),
    "PartInvalid": ("part-invalid", "The part does not hold what was announced", 422),
    "BudgetExceeded": ("budget-exceeded", "More than the study's privacy budget leaves"),
    "StudyPlanNotFollowed": (
        "study-plan-not-followed",
        "The release does not follow the study's plan",
    ),
    "LinkageDiffers": ("linkage-differs", "The linkage secret is another one"),
    "RecordsDoNotAlign": ("records-do-not-align", "The owners' records are not the same"),
    "VariablesMissing": ("variables-missing", "Variables are not reported"),
    "NotReady": ("not-ready", "Not ready", 503),
    "StorageFull": ("storage-full", "No room to store it", 507),
    "TooManyRequests": ("too-many-requests", "Too many requests at once", 429),
    "NotInstalled": ("not-installed", "An optional extra is not installed", 501),
    "SmallCounts": ("counts-too-small", "Exact parameters would rest on too few records"),
    "OtherGroupings": (
        "other-groupings",
        "Exact parameters would reveal other groupings of a column",
    ),
    "SessionEnded": ("session-ended", "The joint session was ended"),
    "StoreCorrupt": ("store-corrupt", "Stored data are damaged", 500),
    "HistoryLost": ("history-lost", "It is not known what has left", 409),
    "WorkerLost": ("worker-lost", "Its worker was lost", 500),
    "Forbidden": ("forbidden", "Not allowed", 403, 4),
    "Unauthenticated": ("unauthenticated", "A valid token is needed", 401),
    "LimitExceeded": ("limit-exceeded", "Larger than this service allows", 413, 4),
    "TransportError": ("transport", "Another service did not answer as agreed", 502, 5),
    "Unreachable": ("miner-unreachable", "The miner did not answer"),
    "Refused": ("miner-refused", "The miner refused", 502, 4),
    "PeerUnreachable": ("peer-unreachable", "Another owner did not answer"),
    "PeerDeviated": ("peer-deviated", "Another owner did not do as announced"),
}
"""By class: code, title, HTTP status and exit code, where they differ from those of its base."""


class PramanaError(Exception):
    """The base class of all errors of this package; `str(error)` is the message, then the remedy.

    Code, title, HTTP status and exit code are those of `_TABLE`, or of the class above.

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
        # Not by its arguments: a class may take more of them than its message.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


PramanaError.__module__ = PUBLIC


def error_classes() -> Iterator[type[PramanaError]]:
    """Yield every class of the tree, root first (for tables that must be complete)."""
    pending: list[type[PramanaError]] = [PramanaError]
    for current in pending:
        yield current
        pending += current.__subclasses__()


class InputError(PramanaError):
    """Something that was passed is wrong, and whoever passed it can correct it.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.Domain.of(sex=["f", "f"])
        ... except pm.InputError as error:
        ...     print(type(error).__name__)
        DomainError
    """


class DomainError(InputError):
    """A variable or domain that cannot exist: no categories, a name twice."""


class UnknownVariable(InputError):
    """A variable that the domain at hand does not have."""


class UnknownCategory(InputError):
    """A category that the variable does not have."""


class ChannelError(InputError):
    """A transition matrix that is not one, or does not fit its variables."""


class SingularChannel(ChannelError):
    """The inverse was asked of a transition matrix that has none."""


class PlanError(InputError):
    """Blocks that overlap, leave a variable out or name one that is not there."""


class UnprotectedVariable(PlanError):
    """A sensitive variable would leave its owner unrandomized."""


class PlanConflict(PlanError):
    """The same variable was already released under a different randomization."""


class RecordsCorrected(PlanConflict):
    """Records that were reported before have other values now, and nobody said what to do."""


class RecordsExchanged(PlanConflict):
    """Many records are gone or new since the last release, and nobody said whose they are."""


class StructureError(InputError):
    """A network structure with a cycle, an unknown node or a repeated parent."""


class OptionError(InputError):
    """An option outside its range."""


class ProtocolUnsupported(InputError):
    """Client and miner have no version of the protocol in common."""


class ConfigError(InputError):
    """A configuration file that cannot be read or says something impossible."""


class TableError(InputError):
    """The owner's table does not match what its configuration says."""


class EmptyTable(TableError):
    """The table has no rows."""


class MissingColumn(TableError):
    """A configured column is not in the table."""


class DuplicateRecordId(TableError):
    """Some record ids occur more than once."""


class MaskingError(InputError):
    """Numeric columns cannot be masked as asked, or it would release true values."""


class ModelError(InputError):
    """A tree or a global model whose parts contradict one another."""


class RequirementUnmet(InputError):
    """However a tree is pruned, nothing is left of it that is anonymous enough."""


class KeyFileError(PramanaError):
    """A secret is absent, weak, a documented example, or readable by others."""


class EstimationError(PramanaError):
    """The counts cannot support the estimate that was asked."""


class NotConverged(EstimationError):
    """An iteration reached its limit before its stated tolerance."""


class StateError(PramanaError):
    """What is stored forbids the request; nothing was changed."""


class NotFound(StateError):
    """No such resource, or none that this caller may see."""


class Conflict(StateError):
    """The same key was used before with other content."""


class ChangedSinceShown(StateError):
    """Somebody agreed to what was shown, and something else would be done now."""


class PartInvalid(StateError):
    """The bytes are those announced but do not hold what the release announced."""


class BudgetExceeded(StateError):
    """A release would tell more than the study's budget of epsilon leaves."""


class StudyPlanNotFollowed(StateError):
    """A release randomizes other than the plan that the owners of the study agreed on."""


class LinkageDiffers(StateError):
    """A release was made under another linkage secret than those of the study's other owners."""


class RecordsDoNotAlign(StateError):
    """The owners' records are not the same set."""


class VariablesMissing(StateError):
    """No sealed release reports a variable that the job needs."""


class NotReady(StateError):
    """The result is not there yet."""


class StorageFull(StateError):
    """The disk, or the store of objects, has no room; nothing was changed."""


class TooManyRequests(StateError):
    """Too many requests, or too many at once; the next can succeed after `retry_seconds`."""

    retry_seconds: int = 1


class NotInstalled(StateError):
    """What was asked needs an optional extra that is not installed here."""


class NotFitted(StateError, AttributeError):
    """An estimator was asked for something that it only has after `fit`.

    It is an `AttributeError` too, so that `hasattr(model, "classes_")` is False before `fit`.

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
    """Exact parameters would rest on fewer records than the custodian allows."""


class OtherGroupings(StateError):
    """Exact parameters by two groupings of a column would reveal the records between them."""


class SessionEnded(StateError):
    """A joint session was ended before its result: interrupted, or past its deadline."""


class StoreCorrupt(StateError):
    """Stored bytes are not those that were acknowledged."""


class HistoryLost(StoreCorrupt):
    """A state directory does not know all that left from it, or may have left."""


class WorkerLost(StateError):
    """A job was given up: its worker ended in the middle of it, time after time."""


class Forbidden(PramanaError):
    """The caller may not do this: the token is good, but not for that."""


class Unauthenticated(Forbidden):
    """No token, or one that is wrong, expired or revoked."""


class LimitExceeded(PramanaError):
    """A request or computation is larger than the service allows."""


def require_at_most(
    number: float, most: float, what: str, where: str | None = None, remedy: str | None = None
) -> None:
    """Check that there are at most so many of what is counted. Raises LimitExceeded."""
    if number > most:
        raise LimitExceeded(
            f"There would be {number:,} {what}; {most:,} are allowed.", where=where, remedy=remedy
        )


class TransportError(PramanaError):
    """The other side did not answer as agreed."""


class Unreachable(TransportError):
    """No answer, or none that speaks the contract, after all retries."""


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
    """Another owner did not answer, not in time, or not as an owner's agent does."""


class PeerDeviated(TransportError):
    """Another owner sent other data than it announced, or the owners disagree on a result."""

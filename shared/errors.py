"""Every error Pramana raises on purpose, in one tree; each class has one stable code.

    PramanaError
    ├── InputError ............ what was given is wrong; the giver can mend it
    │   ├── DomainError             domain-invalid
    │   ├── UnknownVariable         unknown-variable
    │   ├── UnknownCategory         unknown-category
    │   ├── ChannelError            channel-invalid
    │   │   ├── NotStochastic           channel-not-stochastic
    │   │   └── SingularChannel         channel-singular
    │   ├── PlanError               plan-invalid
    │   │   ├── UnprotectedVariable     sensitive-without-channel
    │   │   └── PlanConflict            plan-conflict
    │   │       └── RecordsCorrected        records-corrected
    │   ├── StructureError          structure-invalid
    │   ├── OptionError             option-invalid
    │   ├── ConfigError             config-invalid
    │   └── TableError              table-invalid
    │       ├── TableUnreadable         table-unreadable
    │       ├── EmptyTable              table-empty
    │       ├── MissingColumn           column-missing
    │       ├── MissingRecordId         record-id-missing
    │       └── DuplicateRecordId       record-id-duplicate
    ├── KeyFileError .......... key-file (secrets: absent, weak, readable by others)
    ├── EstimationError ....... estimation-failed
    │   └── NotConverged            not-converged
    ├── StateError ............ what is stored forbids the request
    │   ├── NotFound                not-found
    │   ├── Conflict                conflict
    │   ├── PartDigestMismatch      part-digest-mismatch
    │   ├── PartInvalid             part-invalid
    │   ├── PartConflict            part-conflict
    │   ├── ReleaseIncomplete       release-incomplete
    │   ├── ReleaseNotOpen          release-not-open
    │   ├── BudgetExceeded          budget-exceeded
    │   ├── RecordsDoNotAlign       records-do-not-align
    │   ├── VariablesMissing        variables-missing
    │   ├── NotReady                not-ready
    │   ├── NotInstalled            not-installed
    │   ├── JobCancelled            job-cancelled
    │   ├── SmallCounts             counts-too-small
    │   ├── OtherGroupings          other-groupings
    │   ├── NoiseSpent              noise-spent
    │   ├── SessionEnded            session-ended
    │   └── StoreCorrupt            store-corrupt
    ├── AccessError ........... who asks may not
    │   ├── Unauthenticated         unauthenticated
    │   └── Forbidden               forbidden
    ├── LimitExceeded ......... limit-exceeded
    └── TransportError ........ the other side did not answer as agreed
        ├── Unreachable             miner-unreachable
        ├── Refused                 miner-refused (carries the miner's problem document)
        ├── PeerUnreachable         peer-unreachable
        └── PeerDeviated            peer-deviated

An error says what was wrong (`message`), where (`where`, machine-readable) and what to do
(`remedy`). None may carry a true value of a sensitive column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar


class PramanaError(Exception):
    """The root. `str(error)` is the message followed by the remedy."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    """What a command ends with: 1 unforeseen, 2 input, 3 keys, 4 refused by state or rights,
    5 transport, 6 estimation."""

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message


class InputError(PramanaError):
    """What was given is wrong and the giver can mend it."""

    code = "input-invalid"
    exit_code = 2


class DomainError(InputError):
    """A variable or domain that cannot exist: no categories, a name twice."""

    code = "domain-invalid"


class UnknownVariable(InputError):
    """A variable that the domain at hand does not have."""

    code = "unknown-variable"


class UnknownCategory(InputError):
    """A category that the variable does not have."""

    code = "unknown-category"


class ChannelError(InputError):
    """A transition matrix that is not one, or does not fit its variables."""

    code = "channel-invalid"


class NotStochastic(ChannelError):
    """A row has a negative probability or does not sum to 1."""

    code = "channel-not-stochastic"


class SingularChannel(ChannelError):
    """The inverse was asked of a transition matrix that has none."""

    code = "channel-singular"


class PlanError(InputError):
    """Blocks that overlap, leave a variable out or name one that is not there."""

    code = "plan-invalid"


class UnprotectedVariable(PlanError):
    """A sensitive variable would leave its owner unrandomized."""

    code = "sensitive-without-channel"


class PlanConflict(PlanError):
    """The same variable was already released under a different randomization."""

    code = "plan-conflict"


class RecordsCorrected(PlanConflict):
    """Records that were reported before have other values now, and nobody said what to do."""

    code = "records-corrected"


class StructureError(InputError):
    """A network structure with a cycle, an unknown node or a repeated parent."""

    code = "structure-invalid"


class OptionError(InputError):
    """An option outside its range."""

    code = "option-invalid"


class ConfigError(InputError):
    """A configuration file that cannot be read or says something impossible."""

    code = "config-invalid"


class TableError(InputError):
    """The owner's table does not match what its configuration says."""

    code = "table-invalid"


class TableUnreadable(TableError):
    """The file is absent or is not the format its name says."""

    code = "table-unreadable"


class EmptyTable(TableError):
    """The table has no rows."""

    code = "table-empty"


class MissingColumn(TableError):
    """A configured column is not in the table."""

    code = "column-missing"


class MissingRecordId(TableError):
    """Some rows have no record id."""

    code = "record-id-missing"


class DuplicateRecordId(TableError):
    """Some record ids occur more than once."""

    code = "record-id-duplicate"


class KeyFileError(PramanaError):
    """A secret is absent, weak, a documented example, or readable by others."""

    code = "key-file"
    exit_code = 3


class EstimationError(PramanaError):
    """The counts cannot support the estimate that was asked."""

    code = "estimation-failed"
    exit_code = 6


class NotConverged(EstimationError):
    """An iteration reached its limit before its stated tolerance."""

    code = "not-converged"


class StateError(PramanaError):
    """What is stored forbids the request; nothing was changed."""

    code = "state"
    exit_code = 4


class NotFound(StateError):
    """No such resource, or none that this caller may see."""

    code = "not-found"


class Conflict(StateError):
    """The same key was used before with other content."""

    code = "conflict"


class PartDigestMismatch(StateError):
    """The bytes received are not the bytes announced."""

    code = "part-digest-mismatch"


class PartInvalid(StateError):
    """The bytes are those announced but do not hold what the release announced."""

    code = "part-invalid"


class PartConflict(StateError):
    """A part was already received with other bytes."""

    code = "part-conflict"


class ReleaseIncomplete(StateError):
    """A release cannot be sealed before all its parts are there."""

    code = "release-incomplete"


class ReleaseNotOpen(StateError):
    """The release is sealed or withdrawn and takes no more parts."""

    code = "release-not-open"


class BudgetExceeded(StateError):
    """A release would tell more than the study's budget of epsilon leaves."""

    code = "budget-exceeded"


class RecordsDoNotAlign(StateError):
    """The owners' records are not the same set."""

    code = "records-do-not-align"


class VariablesMissing(StateError):
    """No sealed release reports a variable that the job needs."""

    code = "variables-missing"


class NotReady(StateError):
    """The result is not there yet."""

    code = "not-ready"


class NotInstalled(StateError):
    """What was asked needs an optional extra that is not installed here."""

    code = "not-installed"


class JobCancelled(StateError):
    """The job was cancelled while it ran."""

    code = "job-cancelled"


class SmallCounts(StateError):
    """Exact parameters would rest on fewer records than the custodian allows."""

    code = "counts-too-small"


class OtherGroupings(StateError):
    """Exact parameters would add groupings of a column's records to those told before.

    Whoever compares the tables of two groupings that differ in few records knows these records.
    """

    code = "other-groupings"


class NoiseSpent(StateError):
    """Sharing more counts with noise would cost more than the custodian allows in all."""

    code = "noise-spent"


class SessionEnded(StateError):
    """A joint session was ended before its result: interrupted, or past its deadline."""

    code = "session-ended"


class StoreCorrupt(StateError):
    """Stored bytes are not those that were acknowledged."""

    code = "store-corrupt"


class AccessError(PramanaError):
    """The caller may not do this."""

    code = "access"
    exit_code = 4


class Unauthenticated(AccessError):
    """No token, or one that is wrong, expired or revoked."""

    code = "unauthenticated"


class Forbidden(AccessError):
    """The token is good but its role or study does not allow this."""

    code = "forbidden"


class LimitExceeded(PramanaError):
    """A request or computation is larger than the service allows."""

    code = "limit-exceeded"
    exit_code = 4


class TransportError(PramanaError):
    """The other side did not answer as agreed."""

    code = "transport"
    exit_code = 5


class Unreachable(TransportError):
    """No answer, or none that speaks the contract, after all retries."""

    code = "miner-unreachable"


class Refused(TransportError):
    """The miner answered with a problem document.

    `status` is the HTTP status and `problem_code` the miner's stable code.
    """

    code = "miner-refused"
    exit_code = 4

    def __init__(
        self, message: str, *, status: int, problem_code: str, remedy: str | None = None
    ) -> None:
        super().__init__(message, where=problem_code, remedy=remedy)
        self.status = status
        self.problem_code = problem_code


class PeerUnreachable(TransportError):
    """Another owner did not answer, not in time, or not as an owner's agent does."""

    code = "peer-unreachable"


class PeerDeviated(TransportError):
    """Another owner sent other data than it announced, or the owners disagree on a result."""

    code = "peer-deviated"


def error_classes() -> Iterator[type[PramanaError]]:
    """Yield every class of the tree, root first (for tables that must be complete)."""
    pending: list[type[PramanaError]] = [PramanaError]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(current.__subclasses__())

"""Every error Pramana raises on purpose, in one tree; each class has one stable code and title.

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
    │   ├── ProtocolUnsupported     protocol-unsupported
    │   ├── AmbiguousRequest        request-ambiguous
    │   ├── ConfigError             config-invalid
    │   ├── MaskingError            masking-invalid
    │   ├── ModelError              model-invalid
    │   ├── RequirementUnmet        requirement-unmet
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
    │   ├── StudyPlanNotFollowed    study-plan-not-followed
    │   ├── LinkageDiffers          linkage-differs
    │   ├── RecordsDoNotAlign       records-do-not-align
    │   ├── CoinsDisagree           coins-disagree
    │   ├── VariablesMissing        variables-missing
    │   ├── NotReady                not-ready
    │   ├── StorageFull             storage-full
    │   ├── TooManyRequests         too-many-requests
    │   ├── QuotaExceeded           quota-exceeded
    │   ├── NotInstalled            not-installed
    │   ├── NotFitted               not-fitted
    │   ├── JobCancelled            job-cancelled
    │   ├── SmallCounts             counts-too-small
    │   ├── OtherGroupings          other-groupings
    │   ├── NoiseSpent              noise-spent
    │   ├── SessionEnded            session-ended
    │   ├── StoreCorrupt            store-corrupt
    │   │   └── HistoryLost             history-lost
    │   ├── StoreMismatch           store-mismatch
    │   └── WorkerLost              worker-lost
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
(`remedy`). None may carry a true value of a sensitive column. How it is told over HTTP is in
`pramana_core.wire.problems`.
"""

from pramana_core.errors.base import (
    PramanaError,
    error_classes,
)
from pramana_core.errors.input import (
    AmbiguousRequest,
    ChannelError,
    ConfigError,
    DomainError,
    DuplicateRecordId,
    EmptyTable,
    EstimationError,
    InputError,
    KeyFileError,
    MaskingError,
    MissingColumn,
    MissingRecordId,
    ModelError,
    NotConverged,
    NotStochastic,
    OptionError,
    PlanConflict,
    PlanError,
    ProtocolUnsupported,
    RecordsCorrected,
    RequirementUnmet,
    SingularChannel,
    StructureError,
    TableError,
    TableUnreadable,
    UnknownCategory,
    UnknownVariable,
    UnprotectedVariable,
)
from pramana_core.errors.state import (
    AccessError,
    BudgetExceeded,
    CoinsDisagree,
    Conflict,
    Forbidden,
    HistoryLost,
    JobCancelled,
    LimitExceeded,
    LinkageDiffers,
    NoiseSpent,
    NotFitted,
    NotFound,
    NotInstalled,
    NotReady,
    OtherGroupings,
    PartConflict,
    PartDigestMismatch,
    PartInvalid,
    QuotaExceeded,
    RecordsDoNotAlign,
    ReleaseIncomplete,
    ReleaseNotOpen,
    SessionEnded,
    SmallCounts,
    StateError,
    StorageFull,
    StoreCorrupt,
    StoreMismatch,
    StudyPlanNotFollowed,
    TooManyRequests,
    Unauthenticated,
    VariablesMissing,
    WorkerLost,
)
from pramana_core.errors.transport import (
    PeerDeviated,
    PeerUnreachable,
    Refused,
    TransportError,
    Unreachable,
)

__all__ = [
    "AccessError",
    "AmbiguousRequest",
    "BudgetExceeded",
    "ChannelError",
    "CoinsDisagree",
    "ConfigError",
    "Conflict",
    "DomainError",
    "DuplicateRecordId",
    "EmptyTable",
    "EstimationError",
    "Forbidden",
    "HistoryLost",
    "InputError",
    "JobCancelled",
    "KeyFileError",
    "LimitExceeded",
    "LinkageDiffers",
    "MaskingError",
    "MissingColumn",
    "MissingRecordId",
    "ModelError",
    "NoiseSpent",
    "NotConverged",
    "NotFitted",
    "NotFound",
    "NotInstalled",
    "NotReady",
    "NotStochastic",
    "OptionError",
    "OtherGroupings",
    "PartConflict",
    "PartDigestMismatch",
    "PartInvalid",
    "PeerDeviated",
    "PeerUnreachable",
    "PlanConflict",
    "PlanError",
    "PramanaError",
    "ProtocolUnsupported",
    "QuotaExceeded",
    "RecordsCorrected",
    "RecordsDoNotAlign",
    "Refused",
    "ReleaseIncomplete",
    "ReleaseNotOpen",
    "RequirementUnmet",
    "SessionEnded",
    "SingularChannel",
    "SmallCounts",
    "StateError",
    "StorageFull",
    "StoreCorrupt",
    "StoreMismatch",
    "StructureError",
    "StudyPlanNotFollowed",
    "TableError",
    "TableUnreadable",
    "TooManyRequests",
    "TransportError",
    "Unauthenticated",
    "UnknownCategory",
    "UnknownVariable",
    "UnprotectedVariable",
    "Unreachable",
    "VariablesMissing",
    "WorkerLost",
    "error_classes",
]

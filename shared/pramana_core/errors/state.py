"""What is stored, who asks, or how much it is forbids the request."""

from __future__ import annotations

from pramana_core.errors.base import PramanaError


class StateError(
    PramanaError, code="state", title="The state forbids the request", http_status=409, exit_code=4
):
    """What is stored forbids the request; nothing was changed."""


class NotFound(StateError, code="not-found", title="Not found", http_status=404):
    """No such resource, or none that this caller may see."""


class Conflict(StateError, code="conflict", title="In conflict with what is stored"):
    """The same key was used before with other content."""


class PartDigestMismatch(
    StateError, code="part-digest-mismatch", title="The bytes are not those announced"
):
    """The bytes received are not the bytes announced."""


class PartInvalid(
    StateError,
    code="part-invalid",
    title="The part does not hold what was announced",
    http_status=422,
):
    """The bytes are those announced but do not hold what the release announced."""


class PartConflict(StateError, code="part-conflict", title="The part is stored with other bytes"):
    """A part was already received with other bytes."""


class ReleaseIncomplete(
    StateError, code="release-incomplete", title="Parts of the release are missing"
):
    """A release cannot be sealed before all its parts are there."""


class ReleaseNotOpen(StateError, code="release-not-open", title="The release takes no more parts"):
    """The release is sealed or withdrawn and takes no more parts."""


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


class CoinsDisagree(StateError, code="coins-disagree", title="The owners report different sets"):
    """Releases that follow one study plan report sets that no value of its coin gives together."""


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


class QuotaExceeded(StateError, code="quota-exceeded", title="More than one may keep here"):
    """An owner or a study would have more here at once than the service keeps for one."""


class NotInstalled(
    StateError, code="not-installed", title="An optional extra is not installed", http_status=501
):
    """What was asked needs an optional extra that is not installed here."""


class NotFitted(StateError, AttributeError, code="not-fitted", title="Nothing was learned yet"):
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


class NoiseSpent(
    StateError, code="noise-spent", title="More counts with noise would cost more than is allowed"
):
    """Sharing more counts with noise would cost more than the custodian allows in all."""


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


class StoreMismatch(
    StateError,
    code="store-mismatch",
    title="Database and files are not of one store",
    http_status=500,
):
    """The database and the place of files that a miner was given are not of one store."""


class WorkerLost(StateError, code="worker-lost", title="Its worker was lost", http_status=500):
    """A job was given up: its worker ended in the middle of it, time after time."""


class AccessError(PramanaError, code="access", title="Access denied", http_status=403, exit_code=4):
    """The caller may not do this."""


class Unauthenticated(
    AccessError, code="unauthenticated", title="A valid token is needed", http_status=401
):
    """No token, or one that is wrong, expired or revoked."""


class Forbidden(AccessError, code="forbidden", title="Not allowed"):
    """The token is good but its role or study does not allow this."""


class LimitExceeded(
    PramanaError,
    code="limit-exceeded",
    title="Larger than this service allows",
    http_status=413,
    exit_code=4,
):
    """A request or computation is larger than the service allows."""

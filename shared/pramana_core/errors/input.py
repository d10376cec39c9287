"""What was given is wrong, is no key, or cannot support what was asked of it."""

from __future__ import annotations

from pramana_core.errors.base import PramanaError


class InputError(
    PramanaError, code="input-invalid", title="The input is wrong", http_status=422, exit_code=2
):
    """Something that was passed is wrong, and whoever passed it can correct it.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.Domain.of(sex=["f", "f"])
        ... except pm.InputError as error:
        ...     print(type(error).__name__)
        DomainError
    """


class DomainError(InputError, code="domain-invalid", title="The domain is invalid"):
    """A variable or domain that cannot exist: no categories, a name twice."""


class UnknownVariable(InputError, code="unknown-variable", title="Unknown variable"):
    """A variable that the domain at hand does not have."""


class UnknownCategory(InputError, code="unknown-category", title="Unknown category"):
    """A category that the variable does not have."""


class ChannelError(InputError, code="channel-invalid", title="The transition matrix is invalid"):
    """A transition matrix that is not one, or does not fit its variables."""


class NotStochastic(
    ChannelError,
    code="channel-not-stochastic",
    title="A row of the transition matrix does not sum to 1",
):
    """A row has a negative probability or does not sum to 1."""


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


class AmbiguousRequest(
    InputError,
    code="request-ambiguous",
    title="The length of the body is said twice",
    http_status=400,
):
    """A request whose body has two lengths, which two readers could take differently."""


class ConfigError(InputError, code="config-invalid", title="The configuration is wrong"):
    """A configuration file that cannot be read or says something impossible."""


class TableError(InputError, code="table-invalid", title="The table is wrong"):
    """The owner's table does not match what its configuration says."""


class TableUnreadable(TableError, code="table-unreadable", title="The table cannot be read"):
    """The file is absent or is not the format its name says."""


class EmptyTable(TableError, code="table-empty", title="There are no records"):
    """The table has no rows."""


class MissingColumn(TableError, code="column-missing", title="A column is missing"):
    """A configured column is not in the table."""


class MissingRecordId(TableError, code="record-id-missing", title="Record ids are missing"):
    """Some rows have no record id."""


class DuplicateRecordId(TableError, code="record-id-duplicate", title="Record ids occur twice"):
    """Some record ids occur more than once."""


class MaskingError(InputError, code="masking-invalid", title="The columns cannot be masked so"):
    """Numeric columns cannot be masked as asked, or it would release true values."""


class ModelError(InputError, code="model-invalid", title="The shared model is wrong"):
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

"""The plan of a simulation: one strength for every variable, or a plan as releases carry it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import ValidationError

from pramana_core.channels import CONDITION_LIMIT, Symmetric, Transition
from pramana_core.domain import Domain
from pramana_core.errors import OptionError, PlanError, SingularChannel
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage


def symmetric(domain: Domain, p: float) -> Plan:
    """Return the plan that replaces each variable's category with probability `p`.

    The new category is any of the K - 1 others, each with probability p / (K - 1): the channel
    `symmetric` of a site file, and for K = 2 Ma's binary symmetric randomization (Ma 2.1).

    Raises:
        OptionError: `p` is not a probability, or (K - 1) / K for one of the variables: then every
            report is equally probable whatever the truth.
    """
    if not 0 <= p <= 1:
        raise OptionError(
            f"p must be between 0 and 1, not {p:g}.",
            where="--p",
            remedy="At (K - 1) / K the reports on a variable of K categories say nothing.",
        )
    blocks = tuple(Block((v,), Symmetric.from_probability(v.size, p)) for v in domain)
    silent = [b for b in blocks if b.channel.condition_number > CONDITION_LIMIT]
    if silent:
        size = silent[0].variables[0].size
        raise OptionError(
            f"With p = {p:g} the reports on {', '.join(b.name for b in silent)} say nothing:"
            f" each of {size} categories is reported equally often.",
            where="--p",
            remedy=f"Give a p below {size - 1}/{size} = {(size - 1) / size:g}.",
        )
    return Plan(blocks)


def read_plan(path: Path) -> Plan:
    """Read a plan from the JSON that releases carry (`GET /v1/releases/{id}`, member `plan`).

    Raises:
        OptionError: the file cannot be read, or is not such JSON.
        PlanError, ChannelError, DomainError: it is, but describes no plan.
    """
    try:
        return PlanMessage.model_validate_json(path.read_bytes()).to_plan()
    except OSError as error:
        raise OptionError(
            f"The plan {path} cannot be read: {error.strerror}.", where="--channels"
        ) from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the document"
        raise OptionError(
            f"{path} is not a plan: {place}: {first['msg']}.",
            where="--channels",
            remedy='Give a JSON document {"blocks": [...]} as releases carry it.',
        ) from None


def fitting(plan: Plan, domain: Domain, estimator: str = "moment") -> Plan:
    """Return the blocks of a plan that randomize the variables of a domain.

    Blocks of other variables are left out.

    Args:
        plan: what owners would do.
        domain: the variables simulated.
        estimator: moments need the inverse of every channel; likelihood (`ml`) only reports that
            depend on each variable.

    Raises:
        PlanError: the plan lacks a variable, has other categories for one, or randomizes one
            together with a variable that is not simulated.
        SingularChannel: a channel from which the estimator can learn nothing.
    """
    missing = [name for name in domain.names if name not in plan.domain]
    if missing:
        raise PlanError(
            f"The plan does not say what is done to {', '.join(missing)}.",
            where="--channels",
            remedy=f"Its variables are {list(plan.domain.names)}; those of the records are"
            f" {list(domain.names)}.",
        )
    blocks = tuple(b for b in plan.blocks if any(name in domain for name in b.names))
    for block in blocks:
        _require_fit(block, domain)
        _require_reported(block)
        if estimator == "moment":
            _require_inverse(block)
    return Plan(blocks)


def _require_fit(block: Block, domain: Domain) -> None:
    outside = [name for name in block.names if name not in domain]
    if outside:
        raise PlanError(
            f"The plan randomizes {block.name} together, and {', '.join(outside)} is not among the"
            " variables of the records.",
            where="--channels",
            remedy="Simulate all variables of the block.",
        )
    for variable in block.variables:
        if variable.categories != domain[variable.name].categories:
            raise PlanError(
                f"The plan lists {variable.name} with the categories {list(variable.categories)};"
                f" the records have {list(domain[variable.name].categories)}.",
                where="--channels",
                remedy="Both must list the same categories in the same order.",
            )


def _require_inverse(block: Block) -> None:
    if not block.channel.condition_number <= CONDITION_LIMIT:
        raise SingularChannel(
            f"The channel of {block.name} has no inverse: no moments can be estimated from it.",
            where="--channels",
            remedy="Try --estimator ml, which needs none: it serves blocks of which each record"
            " reports a part.",
        )


def _require_reported(block: Block) -> None:
    silent = [name for name in block.names if _silent(block.restrict([name]))]
    if silent:
        raise SingularChannel(
            f"The plan never reports {', '.join(silent)}: whatever the truth, the reports are"
            " alike.",
            where="--channels",
            remedy="Leave these variables out of the simulation, or give them a channel that"
            " reports them.",
        )


def _silent(channel: Transition | None) -> bool:
    """Whether a channel's reports do not depend on the truth."""
    if channel is None or channel.condition_number <= CONDITION_LIMIT:
        return False
    matrix = channel.matrix()
    return bool(np.ptp(matrix, axis=0).max() < 1 / CONDITION_LIMIT)

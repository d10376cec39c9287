"""The report by which a person reports their own record, under a study's published plan."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from owner_agent.release.single_record import kept_report, permanent_report
from pramana.frames.sentences import checked_options
from pramana.frames.tables import shown
from pramana_core.errors import (
    BudgetExceeded,
    InputError,
    OptionError,
    PlanError,
    StateError,
)
from pramana_core.learn.prediction import encode_record
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.privacy import record_loss
from pramana_core.rounding import rounded_up
from pramana_core.wire.reports import PublishedPlan


@checked_options
def report(
    record: Mapping[str, Any],
    published: Mapping[str, Any] | str | PathLike[str],
    file: str | PathLike[str],
    *,
    max_gamma: float,
    as_they_are: Collection[str] = (),
) -> dict[str, Any]:
    """Randomize a person's one record under the plan that a study published.

    The first report is the only one: it is stored in the file before it is returned, and every
    later call returns it, even if the record has changed. So all that a person sends to the study
    reveals no more than one report does. Randomness comes from the operating system.

    Args:
        record: the value of each variable of the plan, by name, as text or a number.
        published: the plan as the miner publishes it (`GET /v1/studies/{study}/reports/plan`): its
            JSON as a dictionary, or the path of a file.
        file: the path of the stored report, readable only by you; its folder must exist. Without
            the file the record would be randomized again, so keep it as long as the study runs.
        max_gamma: the largest factor by which the report may change any odds about the record. The
            plan's own factor is computed here from the plan itself.
        as_they_are: the variables that the person agrees to report unchanged. No gamma bounds them;
            any other unrandomized variable in the plan raises an error.

    Returns:
        the message for a gateway: `study`, `plan_digest` and `codes`, one code per variable.

    Raises:
        PlanError: `published` is not a published plan, or was changed in transit.
        BudgetExceeded: the plan reveals more than `max_gamma`, or reports a variable unchanged that
            is not in `as_they_are`; nothing was drawn.
        StateError: the study accepts no more reports, and the file has none; nothing was drawn.
        PlanConflict: the file contains a report for another study or under another plan.
        OptionError, KeyFileError: the file cannot be used, or others may read it.
        UnknownVariable, InputError, UnknownCategory: the record does not fit the plan.

    Examples:
        >>> import pramana as pm, json, tempfile
        >>> plan = pm.plan(pm.Domain.of(smokes=["no", "yes"], asthma=["no", "yes"]), gamma=3)
        >>> published = {  # the plan as a gateway passes it on
        ...     "study": "lungs", "owner": "clients", "state": "open", "as_they_are": [],
        ...     "plan_digest": plan.digest, "plan": plan.as_dict(),
        ...     "record": {"epsilon": 2.197, "gamma": 9.0, "grows_to": 0.32},
        ... }
        >>> kept = tempfile.mkdtemp() + "/lungs.json"
        >>> mine = pm.report({"smokes": "no", "asthma": "yes"}, published, kept, max_gamma=9)
        >>> mine == pm.report({"smokes": "yes", "asthma": "yes"}, published, kept, max_gamma=9)
        True
    """
    given: object = max_gamma
    if not isinstance(given, int | float) or not given >= 1:
        raise OptionError(
            f"max_gamma must be a number of at least 1, not {shown(max_gamma)}.", where="max_gamma"
        )
    document = _read(published)
    plan = document.plan.to_plan()
    if plan.digest != document.plan_digest:
        raise PlanError(
            f"The plan's digest is {plan.digest[:12]}..., but {document.plan_digest[:12]}... was"
            " announced: this is not the plan that the study published.",
            where="published",
            remedy="Fetch the plan again from the study's operator.",
        )
    _require_bounded(plan, max_gamma, as_they_are)
    path = Path(file)
    try:
        made = kept_report(plan, document.study, path)
        if made is None:
            if document.state != "open":
                raise StateError(
                    f"Reports of study {document.study} are {document.state}. Nothing was drawn.",
                    where="published",
                    remedy="Fetch the plan again once the study accepts reports, or do not report.",
                )
            made = permanent_report(plan, document.study, _codes(plan, record), path)
    except OSError as error:
        raise OptionError(
            f"The report cannot be stored in {path}: {error.strerror}.",
            where="file",
            remedy="Name a file in a folder that exists and that you may write.",
        ) from None
    return made.model_dump(mode="json")


def _require_bounded(plan: Plan, max_gamma: float, as_they_are: Collection[str]) -> None:
    """Check that a report reveals no more than the person agreed to. Raises BudgetExceeded."""
    true = [name for b in plan.blocks if b.channel.is_identity for name in b.names]
    agreed = {as_they_are} if isinstance(as_they_are, str) else set(as_they_are)
    unagreed = [name for name in true if name not in agreed]
    if unagreed and not math.isinf(max_gamma):
        raise BudgetExceeded(
            "Under this plan no gamma bounds what a report reveals: it contains the true"
            f" {', '.join(map(repr, unagreed))}. Nothing was drawn.",
            where=", ".join(unagreed),
            remedy="Report only if the person agrees; then name these variables in as_they_are.",
        )
    gamma = record_loss(plan).gamma
    if gamma > max_gamma * (1 + 1e-9):
        states = "no gamma bounds" if math.isinf(gamma) else f"gamma {rounded_up(gamma)} bounds"
        raise BudgetExceeded(
            f"Under this plan {states} a report, but max_gamma allows at most {max_gamma:g}."
            " Nothing was drawn.",
            where="max_gamma",
            remedy="Report only if the person agrees; then pass a larger max_gamma.",
        )


def _codes(plan: Plan, record: Mapping[str, Any]) -> dict[str, Codes]:
    """Return a record's true codes. Raises UnknownVariable, InputError, UnknownCategory."""
    if not isinstance(record, Mapping):
        raise InputError(
            f"record must be a dictionary of values by variable, not {shown(record)}.",
            where="record",
        )
    return encode_record(plan.domain, record)


def _read(published: Mapping[str, Any] | str | PathLike[str]) -> PublishedPlan:
    try:
        if isinstance(published, Mapping):
            return PublishedPlan.model_validate(dict(published))
        return PublishedPlan.model_validate(json.loads(Path(published).read_bytes()))
    except (ValidationError, json.JSONDecodeError, UnicodeDecodeError):
        raise PlanError(
            "published is not a plan in the miner's form.",
            where="published",
            remedy="Pass the unchanged answer of GET /v1/studies/{study}/reports/plan.",
        ) from None
    except OSError as error:
        raise OptionError(
            f"{published} cannot be read: {error.strerror}.", where="published"
        ) from None

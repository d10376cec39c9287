"""The report of a person who holds one record, by a study's published plan."""

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
    """Randomize the one record that a person has, by the plan that a study published.

    The first report is the only one: it is kept in the file before it is returned, and every later
    call returns it, whatever the record is by then. So all that a person ever sends to the study
    reveals no more than one report. Randomness is the operating system's.

    Args:
        record: a value of each variable of the plan, by name, as text or a number.
        published: the plan as the miner publishes it (`GET /v1/studies/{study}/reports/plan`): its
            JSON as a dictionary, or a file with it.
        file: where the report is kept, readable by nobody else; its folder must exist. Without
            the file the record would be randomized anew, so keep it as long as the study runs.
        max_gamma: the most that the report may reveal: no odds about the record may change by a
            larger factor. It is computed here from the plan itself.
        as_they_are: the variables that the person agrees to report unchanged. No gamma bounds them;
            a plan that does not randomize others too is refused.

    Returns:
        the message for a gateway: `study`, `plan_digest` and `codes`, one code of each variable.

    Raises:
        PlanError: `published` is no published plan, or was changed on its way.
        BudgetExceeded: the plan reveals more than `max_gamma`, or reports a variable unchanged that
            is not in `as_they_are`; nothing was drawn.
        StateError: the study takes no more reports, and none is kept; nothing was drawn.
        PlanConflict: the file has a report for another study, or by another plan.
        OptionError, KeyFileError: the file cannot be used, or others may read it.
        UnknownVariable, InputError, UnknownCategory: the record does not fit the plan.

    Examples:
        >>> import pramana as pm, json, tempfile
        >>> plan = pm.plan(pm.Domain.of(smokes=["no", "yes"], asthma=["no", "yes"]), gamma=3)
        >>> published = {  # what a gateway was given by the miner, and passes on
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
            f"The plan's digest is {plan.digest[:12]}..., and {document.plan_digest[:12]}... was"
            " announced: it is not the plan that the study published.",
            where="published",
            remedy="Fetch it again, from whoever runs the study.",
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
                    remedy="Do not answer, or fetch the plan again once reports are taken.",
                )
            made = permanent_report(plan, document.study, _codes(plan, record), path)
    except OSError as error:
        raise OptionError(
            f"The report cannot be kept in {path}: {error.strerror}.",
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
            "By this plan no gamma bounds what a report reveals: it has the true"
            f" {', '.join(map(repr, unagreed))}. Nothing was drawn.",
            where=", ".join(unagreed),
            remedy="Answer only if the person agrees to that; then name them in as_they_are.",
        )
    gamma = record_loss(plan).gamma
    if gamma > max_gamma * (1 + 1e-9):
        states = "no gamma bounds" if math.isinf(gamma) else f"gamma {gamma:.4g} is"
        raise BudgetExceeded(
            f"By this plan {states} what a report reveals; at most {max_gamma:g} was allowed."
            " Nothing was drawn.",
            where="max_gamma",
            remedy="Answer only if the person agrees to that; then pass max_gamma accordingly.",
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
            "published is not a plan as the miner publishes it.",
            where="published",
            remedy="Pass what GET /v1/studies/{study}/reports/plan answered, as it is.",
        ) from None
    except OSError as error:
        raise OptionError(
            f"{published} cannot be read: {error.strerror}.", where="published"
        ) from None

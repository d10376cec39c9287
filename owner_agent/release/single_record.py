"""One person's record, reported once and permanently under a study's published plan.

The draw's keys are discarded. The report is stored before it is sent, and never drawn again.
"""

from __future__ import annotations

import secrets as system
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from owner_agent.randomize.reports import randomize
from owner_agent.state.keys import KEY_LENGTH, Secrets
from owner_agent.state.private_files import refuse_if_open_to_others, write_new
from pramana_core.channels import Coordinated
from pramana_core.errors import PlanConflict, PlanError, StoreCorrupt
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Plan
from pramana_core.wire.base import KEY_BYTES
from pramana_core.wire.reports import SingleReport


def draw_reports(
    plan: Plan,
    study: str,
    columns: Mapping[str, Codes],
    random_bytes: Callable[[int], bytes] = system.token_bytes,
) -> dict[str, Codes]:
    """Randomize N people's records by temporary keys. Return N codes by variable, in random order.
    Raises PlanError if the plan is an owner's part of a study plan.
    """
    if any(isinstance(block.channel, Coordinated) for block in plan.blocks):
        raise PlanError(
            "The plan is an owner's part of a study plan, whose coin a single record cannot use.",
            where="plan",
            remedy="Use a plan that samples its blocks record by record.",
        )
    records = len(next(iter(columns.values())))
    passing = Secrets(random_bytes(KEY_LENGTH), random_bytes(KEY_LENGTH))
    keys = np.frombuffer(random_bytes(KEY_BYTES * records), dtype=f"V{KEY_BYTES}")
    return randomize(plan, passing, study, keys, columns).columns


def permanent_report(
    plan: Plan, study: str, record: Mapping[str, Codes], file: Path
) -> SingleReport:
    """Return the report in a private file. If there is no file, draw and store the report first.

    Raises PlanConflict, KeyFileError, StoreCorrupt, PlanError, TableError or StorageFull.
    """
    if not file.exists():
        reported = draw_reports(plan, study, record)
        codes = [int(reported[name][0]) for name in plan.reported_sizes]
        made = SingleReport(study=study, plan_digest=plan.digest, codes=codes)
        try:
            write_new(file, made.model_dump_json().encode() + b"\n")
        except FileExistsError:
            pass  # another process was faster, and its report is the permanent one
        else:
            return made
    return _kept(file, study, plan)


def kept_report(plan: Plan, study: str, file: Path) -> SingleReport | None:
    """Return the report in a file, or None if the file is missing.

    Raises the errors of `permanent_report`.
    """
    return _kept(file, study, plan) if file.exists() else None


def _kept(file: Path, study: str, plan: Plan) -> SingleReport:
    refuse_if_open_to_others(file, f"chmod 600 {file}")
    try:
        kept = SingleReport.model_validate_json(file.read_bytes())
    except ValidationError:
        raise StoreCorrupt(
            f"The file {file} does not contain a report.",
            where=str(file),
            remedy="Restore it from a backup. A record must not be randomized a second time, as two"
            " reports together reveal more than one.",
        ) from None
    if (kept.study, kept.plan_digest) != (study, plan.digest):
        changed = "study" if kept.study != study else "plan"
        names = {
            "study": (kept.study, study),
            "plan": (kept.plan_digest[:12], plan.digest[:12]),
        }[changed]
        raise PlanConflict(
            f"The report in {file} is for {changed} {names[0]}, but this is {changed}"
            f" {names[1]}. Nothing was drawn.",
            where=str(file),
            remedy="Do not report the record twice in one study, because two reports reveal more "
            "than the plan states. For another study, name another file; the epsilons of the "
            "two studies add.",
        )
    return kept

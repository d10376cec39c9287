"""The agent's data as JSON, one form for scripts and for the local HTTP service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from owner_agent.release.composition import Unbounded, left_draws, spent
from owner_agent.release.ledger import Entry, Form
from owner_agent.release.new_epoch import NewEpoch
from owner_agent.report.measures import finite
from owner_agent.report.whole_study import StudyForecast


def ledger_json(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the ledger; an epsilon that is infinite, or that nothing bounds, is null."""
    unbounded = Unbounded.of(left_draws(entries))
    return {
        "releases": [_entry(entry) for entry in entries],
        "composed_epsilon": {column: finite(value) for column, value in spent(entries).items()},
        "masked_columns": sorted(unbounded.masked),
        "shared_columns": sorted(unbounded.shared),
    }


def new_epoch_json(begun: NewEpoch) -> dict[str, Any]:
    """Return what a new epoch begins with."""
    return {
        "miner_asked": begun.asked,
        "counted": [_entry(entry) for entry in begun.counted],
        "not_counted": list(begun.uncounted),
        "composed_epsilon": {column: finite(value) for column, value in begun.losses.items()},
    }


def study_json(study: StudyForecast | str | None) -> dict[str, Any]:
    """Return what the miner says of the whole study, or why it says nothing."""
    return {
        "study": study.as_dict() if isinstance(study, StudyForecast) else None,
        "study_unknown": study if isinstance(study, str) else None,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "prepared": entry.prepared.isoformat(),
        "changed": entry.changed.isoformat(),
        "miner": entry.miner,
        "study": entry.study,
        "release": entry.name,
        "kind": entry.kind,
        "method": entry.method or None,
        "release_id": entry.release_id,
        "state": entry.state,
        "records": entry.records,
        "digest": entry.digest,
        "plan_digest": entry.plan_digest,
        "variables": [
            {
                "name": d.variable,
                "column": d.column,
                "epsilon": finite(d.epsilon),
                "masked": d.form is Form.MASKED,
                "shared": d.in_tree,
                "same_values_as": list(d.same_as),
            }
            for d in entry.draws
        ],
    }

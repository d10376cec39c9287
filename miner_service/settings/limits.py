"""The largest things that the service accepts, and how much one owner may keep here.

Limits protect the service from a mistaken or hostile client; each is checked before the work that
it bounds is done.
"""

from __future__ import annotations

from dataclasses import dataclass

from miner_service.settings.positive import require_positive
from pramana_core.wire.base import MAX_PARTS

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The largest things the service accepts.

    `json_bytes`: a JSON body. `part_bytes`: one part. `release_bytes`: all parts of a release.
    `variables` and `categories`: of one plan, categories summed over its variables.
    `channel_size`: categories of a channel that has no closed form (dense or grouped), whose
    matrix must be held whole. `job_cells`: cells of the largest table a job may ask for.
    `bootstrap_cells`: of that table in all bootstrap samples together. `job_seconds`: that a
    job may run, `job_bytes`: of memory that it may take. `search_variables`: among which a
    structure may be searched for. `model_parameters`: of one learned model. `answer_cells`:
    combinations in the answer to one question. `sample_cells`: synthetic records times their
    variables, in one answer. `prediction_records`: whose class is asked for at once.
    `prediction_cells`: these records times the classes.

    Raises:
        OptionError: a limit below 1.
    """

    json_bytes: int = 8 * MEBIBYTE
    part_bytes: int = 64 * MEBIBYTE
    release_bytes: int = 16 * 1024 * MEBIBYTE
    parts: int = MAX_PARTS
    variables: int = 1024
    categories: int = 65_536
    channel_size: int = 4096
    job_cells: int = 1 << 24
    bootstrap_cells: int = 1 << 22
    job_seconds: int = 3600
    job_bytes: int = 8 * 1024 * MEBIBYTE
    search_variables: int = 256
    model_parameters: int = 1 << 18
    answer_cells: int = 1 << 16
    sample_cells: int = 1 << 24
    prediction_records: int = 100_000
    prediction_cells: int = 1 << 21

    def __post_init__(self) -> None:
        require_positive(self)


@dataclass(frozen=True)
class Quotas:
    """How much one owner may have in a study at once.

    `open_releases`: announced and neither sealed nor withdrawn. `announced_parts` and
    `announced_bytes`: of these releases together. `stored_bytes`: of all its releases that are
    not withdrawn. `queued_jobs`: of one study, waiting to be run.

    Raises:
        OptionError: a quota below 1.
    """

    open_releases: int = 8
    announced_parts: int = 20_000
    announced_bytes: int = 32 * 1024 * MEBIBYTE
    stored_bytes: int = 128 * 1024 * MEBIBYTE
    queued_jobs: int = 64

    def __post_init__(self) -> None:
        require_positive(self)

"""Why a run of a job was ended from outside, in words. Imported by supervisors, which are small."""

from __future__ import annotations

from pramana_core.errors import LimitExceeded

MEBIBYTE = 1 << 20


def too_long(allowed: float, predicted: float | None) -> LimitExceeded:
    """Return the error of a job that ran for longer than it may, all in seconds."""
    return LimitExceeded(
        f"The job ran for more than {allowed:g} seconds and was stopped;"
        f" {_seconds(predicted)} predicted.",
        where="job_seconds",
        remedy="Ask for less: fewer variables, parents, draws or itemsets.",
    )


def too_large(taken: float, allowed: float, predicted: float | None) -> LimitExceeded:
    """Return the error of a job that took more memory than it may, all in bytes."""
    told = "its memory was not" if predicted is None else f"{predicted / MEBIBYTE:.0f} MiB were"
    return LimitExceeded(
        f"The job took {taken / MEBIBYTE:.0f} MiB of memory and was stopped;"
        f" {allowed / MEBIBYTE:.0f} MiB are allowed, {told} predicted.",
        where="job_bytes",
        remedy="Ask for less: fewer variables, categories or parents.",
    )


def out_of_memory(allowed: float) -> LimitExceeded:
    """Return the error of a job that asked at once for more memory than it may have, in bytes."""
    return LimitExceeded(
        "The job asked for more memory than there is for it and was stopped;"
        f" {allowed / MEBIBYTE:.0f} MiB are allowed.",
        where="job_bytes",
        remedy="Ask for less: fewer variables, categories or parents.",
    )


def _seconds(predicted: float | None) -> str:
    return "its time was not" if predicted is None else f"{predicted:.3g} seconds were"

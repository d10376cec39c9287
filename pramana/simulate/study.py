"""What every simulation answers: numbers per run, their means, and the setting they are of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.marginals.lack_of_fit import LackOfFit, warnings_of
from pramana_core.terminal import print_json

STANDARD_OUTPUT = Path("-")

Numbers = Mapping[str, float | None]
"""One run's results by name; None where there is none."""


@dataclass(frozen=True)
class Fits:
    """How the reports of each run fit the log-linear models that counts were taken from, if any."""

    runs: tuple[tuple[LackOfFit, ...], ...]

    @property
    def warned(self) -> list[str]:
        """The first warning of each run that has one."""
        return [warnings[0] for run in self.runs if (warnings := warnings_of(run))]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: nothing where no model was fitted."""
        if not any(self.runs):
            return {}
        runs = [[test.as_dict() for test in run] for run in self.runs]
        return {"lack_of_fit": {"runs": runs, "warned": len(self.warned)}}


@dataclass(frozen=True)
class Series:
    """The results of all runs, each with the same names."""

    runs: tuple[Numbers, ...]

    def mean(self) -> dict[str, float | None]:
        """Return the mean of each result; None where a run has none."""
        return {name: _or_none(np.mean, values) for name, values in self._columns()}

    def se(self) -> dict[str, float | None]:
        """Return the standard error of each mean over the runs; None for a single run."""
        return {name: _or_none(_standard_error, values) for name, values in self._columns()}

    def _columns(self) -> list[tuple[str, list[float | None]]]:
        return [(name, [run[name] for run in self.runs]) for name in self.runs[0]]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"runs": [dict(run) for run in self.runs], "mean": self.mean(), "se": self.se()}


def _or_none(function: Any, values: Sequence[float | None]) -> float | None:
    present = [v for v in values if v is not None]
    result = float(function(present)) if len(present) == len(values) else math.nan
    return None if math.isnan(result) else result


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def _standard_error(values: Sequence[float]) -> float:
    return _deviation(values) / math.sqrt(len(values))


def spread(runs: Series, name: str) -> dict[str, float | None]:
    """Return mean and standard deviation of a result over the runs; the latter None for one run."""
    values = [run[name] for run in runs.runs]
    return {"mean": runs.mean()[name], "sd": _or_none(_deviation, values)}


def require_place(out: Path | None) -> None:
    """Refuse, before anything is computed, a place that the result cannot be written to.

    Raises:
        OptionError: the folder is not there, or the path is one.
    """
    if out is None or out == STANDARD_OUTPUT:
        return
    if out.is_dir() or not out.parent.is_dir():
        raise OptionError(
            f"The result cannot be written to {out}:"
            f" {'it is a folder' if out.is_dir() else f'there is no folder {out.parent}'}.",
            where="--json",
            remedy="Name a file in a folder that is there, or - for standard output.",
        )


def write_result(result: Mapping[str, Any], out: Path) -> None:
    """Write a result as JSON to a file, or to standard output for `-`.

    Raises:
        OptionError: the file cannot be written.
    """
    if out == STANDARD_OUTPUT:
        print_json(result)
        return
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionError(
            f"The result cannot be written to {out}: {error.strerror}.", where="--json"
        ) from error

"""What an attacker is taken to believe before a report: public beliefs from a file, or uniform.

Never computed from the table: the report is meant to be shown to others, and shares of the table's
categories are true values of a sensitive column.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from owner_agent.site.planning import Planned
from pramana_core.errors import OptionError

Priors = Mapping[str, tuple[float, ...]]
"""A probability of each category of some variables, in code order; the others are uniform."""

SUM_TOLERANCE = 1e-6
"""Beliefs typed to six digits sum to 1 no better than this."""


def read_priors(path: Path, plan: Planned) -> Priors:
    """Read beliefs from a JSON file `{variable: [probability of each category]}`.

    Raises:
        OptionError: the file cannot be read or is another object, names a variable the plan does
            not have, or gives it other than one probability for each category that sum to 1.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(
            f"The beliefs in {path} cannot be read as JSON.",
            where="prior",
            remedy='Write {"variable": [probability of each category, ...]}.',
        ) from error
    if not isinstance(content, dict):
        raise OptionError(
            f"The beliefs in {path} are not an object with a list for each variable.",
            where="prior",
            remedy='Write {"variable": [probability of each category, ...]}.',
        )
    return {name: _prior(name, given, plan) for name, given in content.items()}


def _prior(name: str, given: Any, plan: Planned) -> tuple[float, ...]:
    if name not in plan.variables:
        raise OptionError(
            f"The prior names a variable {name!r}, which the plan does not have.",
            where=f"prior.{name}",
            remedy=f"The variables are {list(plan.variables)}.",
        )
    size = plan.variables[name].size
    numbers = given if isinstance(given, list) else []
    if len(numbers) != size or not all(map(_is_probability, numbers)):
        raise OptionError(
            f"The prior of {name!r} is not a list of {size} probabilities.",
            where=f"prior.{name}",
            remedy="Give one between 0 and 1 for each category, in the site file's order.",
        )
    total = math.fsum(numbers)
    if abs(total - 1) > SUM_TOLERANCE:
        raise OptionError(
            f"The prior of {name!r} sums to {total:.9g}, not 1.",
            where=f"prior.{name}",
            remedy="Scale its probabilities to sum to 1.",
        )
    return tuple(number / total for number in numbers)


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1

"""What plans and designs are asked for by: a domain, names of its variables, and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, OptionError, UnknownVariable


def require_domain(domain: object) -> Domain:
    """Return a domain. Raises DomainError where something else was given."""
    if not isinstance(domain, Domain) or not len(domain):
        made = "; write pm.domain(frame, categories) first" if hasattr(domain, "columns") else ""
        said = "one without variables" if isinstance(domain, Domain) else shown(domain)
        raise DomainError(f"domain must be a Domain, not {said}{made}.", where="domain")
    return domain


def require_variables(names: Iterable[str], domain: Domain, argument: str) -> None:
    """Raise UnknownVariable where an argument names what is not a variable."""
    unknown = [name for name in names if name not in domain]
    if unknown:
        raise UnknownVariable(
            f"{argument} names {quoted(unknown)}, which domain does not have; its variables are"
            f" {quoted(domain.names)}.",
            where=unknown[0],
        )


def one_of(given: Mapping[str, object]) -> tuple[str, object] | None:
    """Return which of several demands is given, and it; None for none. Raises OptionError."""
    found = [(name, value) for name, value in given.items() if value is not None]
    if len(found) > 1:
        names = list(given)
        raise OptionError(
            f"Give one of {', '.join(names[:-1])} and {names[-1]}, not"
            f" {' and '.join(name for name, _ in found)} together.",
            where=found[0][0],
        )
    return found[0] if found else None


def whole_number(value: object, argument: str, hint: str = "") -> int:
    """Return a whole number of 1 or more. Raises OptionError."""
    found = int(value) if isinstance(value, Integral) else 0
    if isinstance(value, bool) or found < 1:
        raise OptionError(
            f"{argument} must be a whole number of 1 or more, not {shown(value)}{hint}.",
            where=argument,
        )
    return found


def number(value: object, argument: str) -> float:
    """Return a finite number. Raises OptionError."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.inf
    if isinstance(value, bool) or not math.isfinite(found):
        raise OptionError(f"{argument} must be a number, not {shown(value)}.", where=argument)
    return found

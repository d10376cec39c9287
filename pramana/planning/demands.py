"""What plans and designs are asked for by: a domain, names of its variables, and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real

from pramana.frames.sentences import quoted
from pramana.frames.tables import shown
from shared.domain import Domain
from shared.errors import DomainError, OptionError, UnknownVariable


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


def number(value: object, argument: str) -> float:
    """Return a finite number. Raises OptionError."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise OptionError(f"{argument} must be a number, not {shown(value)}.", where=argument)
    return float(value)

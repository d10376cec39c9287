"""What is required of every path, as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from shared.errors import OptionError
from shared.model_sharing.anonymity.requirements import Requirement, parse_requirement

__all__ = ["NOT_GIVEN", "NotGiven", "Requirement", "requirement_of"]

_WANTED = (
    "requirement must be pm.Requirement(k=5), pm.Requirement(c=10, l=3), a number k, or None, which"
    " prunes nothing"
)


class NotGiven:
    """The default of a requirement: that nothing is required must be written out."""

    def __repr__(self) -> str:
        return "..."


NOT_GIVEN = NotGiven()


def requirement_of(given: Any) -> Requirement | None:
    """Return a requirement: itself, its fields as a mapping, k, or words. Raises OptionError."""
    if given is None or isinstance(given, Requirement):
        return given
    if isinstance(given, NotGiven):
        raise OptionError(f"{_WANTED}; there is no default.", where="requirement")
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in ("k", "c", "l", "exact")]
        if unknown:
            raise OptionError(
                f"requirement has no {unknown[0]!r}; it has k, c, l and exact.", where="requirement"
            )
        with one_sentence("requirement"):
            return Requirement(**given)
    if isinstance(given, int) and not isinstance(given, bool):
        with one_sentence("requirement"):
            return Requirement(k=given)
    if isinstance(given, str):
        with one_sentence():
            return parse_requirement(given)
    raise OptionError(f"{_WANTED}, not {shown(given)}.", where="requirement")

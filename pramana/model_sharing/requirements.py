"""What is required of every path, as people write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pramana.estimators.saved import plain
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.errors import OptionError
from pramana_core.model_sharing.anonymity.requirements import Requirement, parse_requirement

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


def requirement_of(given: Any, *, private: bool = False) -> Requirement | None:
    """Return a requirement: itself, its fields as a mapping, k, or words.

    Args:
        given: the requirement; None requires nothing.
        private: whether the tree has an epsilon, so that it need not be written that nothing is.

    Raises:
        OptionError: it is no requirement, or is not given.
    """
    if given is None or isinstance(given, Requirement):
        return given
    if private and isinstance(given, NotGiven):
        return None
    if isinstance(given, NotGiven):
        raise OptionError(f"{_WANTED}; there is no default.", where="requirement")
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in ("k", "c", "l", "exact")]
        if unknown:
            raise OptionError(
                f"requirement has no {unknown[0]!r}; it has k, c, l and exact.", where="requirement"
            )
        with one_sentence("requirement"):
            return Requirement(**{name: plain(value) for name, value in given.items()})
    number = plain(given)
    if isinstance(number, int) and not isinstance(number, bool):
        with one_sentence("requirement"):
            return Requirement(k=number)
    if isinstance(given, str):
        if "=" not in given:
            raise OptionError(f"{_WANTED}, not {shown(given)}.", where="requirement")
        with one_sentence():
            return parse_requirement(given)
    raise OptionError(f"{_WANTED}, not {shown(given)}.", where="requirement")

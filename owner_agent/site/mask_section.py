"""`[mask]` of the site file: the columns to mask, the columns to send unchanged, and the method."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.sections import ColumnName, ColumnSection, Section, require_listed_once
from pramana_core.alike import did_you_mean, repeated_in
from pramana_core.errors import OptionError
from pramana_core.wire.base import Label

AUTO = "auto"
"""Selects the method recommended for this table."""


class TellSection(ColumnSection):
    """A column sent unchanged: numbers, or the listed categories.

    `missing` is the category that empty cells get. `reveals` lists confidential columns that this
    column is allowed to reveal.
    """

    categories: Annotated[tuple[Label, ...], Field(min_length=2)] | None = None
    missing: Label | None = None
    reveals: tuple[ColumnName, ...] = ()

    @model_validator(mode="after")
    def _listed_once(self) -> Self:
        require_listed_once(self.column, self.categories or (), self.missing)
        return self


class MaskSection(Section):
    """Masking: the confidential columns, all numeric, and the columns sent unchanged.

    `method` is one of `pramana_core.mask.METHODS`, or "auto"; `options` are the method's options.
    `max_leverage` limits the influence of a record on its own masked value. Unchanged columns
    explain part of a confidential column's variance; `max_told` limits how much of the rest is
    disclosed. Records with empty cells are errors ("refuse") or omitted and counted ("drop").
    """

    confidential: Annotated[tuple[ColumnName, ...], Field(min_length=1)]
    tell: tuple[TellSection, ...] = ()
    method: str = AUTO
    options: dict[str, Any] = Field(default_factory=dict)
    max_leverage: Annotated[float, Field(gt=0, le=1)] | None = None
    max_told: Annotated[float, Field(gt=0, lt=1)] | None = None
    missing: Literal["refuse", "drop"] = "refuse"

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The names of the columns sent unchanged."""
        return tuple(tell.column for tell in self.tell)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns in the release."""
        return self.unchanged + self.confidential

    @model_validator(mode="after")
    def _columns_once(self) -> Self:
        if twice := repeated_in(self.columns):
            raise ValueError(
                f"column {twice[0]!r} is named twice; list it once, under tell or confidential"
            )
        return self

    @model_validator(mode="after")
    def _known_method(self) -> Self:
        try:
            if self.method != AUTO:
                self.options_of(self.method)
            elif self.options:
                raise ValueError(
                    'options require the name of a method; remove them, or replace "auto"'
                )
        except OptionError as error:
            raise ValueError(error.message) from None
        return self

    def options_of(self, name: str) -> dict[str, Any]:
        """Return all options for running a masking method. Raises OptionError."""
        # The methods load scipy, which most site files do not need.
        from pramana_core.mask.catalogue import METHODS
        from pramana_core.mask.core.masked import method_of

        method = method_of(name, METHODS)
        given = dict(self.options)
        for beside in ("max_leverage", "max_told"):
            if beside in self.options:
                raise OptionError(f"write {beside} in [mask] itself, not in its options")
        # A recommended method may lack the option, a named method must have it. A bound on the
        # disclosure is always applied or rejected.
        if self.max_leverage is not None and (
            self.method != AUTO or "max_leverage" in method.options
        ):
            given["max_leverage"] = self.max_leverage
        if self.max_told is not None:
            given["max_told"] = self.max_told
        if unknown := sorted(set(given) - set(method.options)):
            takes = ", ".join(method.options) or "none"
            meant = did_you_mean(unknown[:1], method.options)
            raise OptionError(
                f"method {name!r} has no option {unknown[0]!r}{meant}; its options are {takes}"
            )
        return given


def masking_mistakes(section: MaskSection, record_id: str, read: dict[str, bool]) -> list[str]:
    """Return sentences on the conflicts between this section and the rest of the site file."""
    found = [
        f"mask: column {name!r} is the record id and is never sent"
        for name in section.columns
        if name == record_id
    ]
    found += [
        f"mask: column {name!r} is confidential, but a variable also reads it, so it would be "
        "released in two forms"
        for name in section.confidential
        if name in read
    ]
    found += [
        f"mask: column {name!r} would be sent unchanged, but a variable declares it sensitive"
        for name in section.unchanged
        if read.get(name)
    ]
    return found

"""`[mask]` of the site file: which columns are masked, which are released as they are, and how."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from owner_agent.site.sections import ColumnName, ColumnSection, Section, require_listed_once
from pramana_core.alike import did_you_mean, repeated_in
from pramana_core.errors import OptionError
from pramana_core.wire.base import Label

AUTO = "auto"
"""The method that says: the one recommended for this table."""


class TellSection(ColumnSection):
    """A column released unchanged: of numbers, or of the categories listed.

    `missing` is the category of empty cells; `reveals` names confidential columns it may give away.
    """

    categories: Annotated[tuple[Label, ...], Field(min_length=2)] | None = None
    missing: Label | None = None
    reveals: tuple[ColumnName, ...] = ()

    @model_validator(mode="after")
    def _listed_once(self) -> Self:
        require_listed_once(self.column, self.categories or (), self.missing)
        return self


class MaskSection(Section):
    """Masking: the confidential columns, all numeric, and those that are told as they are.

    `method` is one of `pramana_core.mask.METHODS`, or "auto"; `options` are the method's.
    `max_leverage` is how much of its own masked value a record's true one may decide, `max_told`
    how much of what the told columns leave of it may be told. Records with empty cells are refused,
    or dropped and counted.
    """

    confidential: Annotated[tuple[ColumnName, ...], Field(min_length=1)]
    tell: tuple[TellSection, ...] = ()
    method: str = AUTO
    options: dict[str, Any] = Field(default_factory=dict)
    max_leverage: Annotated[float, Field(gt=0, le=1)] | None = None
    max_told: Annotated[float, Field(gt=0, lt=1)] | None = None
    missing: Literal["refuse", "drop"] = "refuse"

    @property
    def told(self) -> tuple[str, ...]:
        """The names of the columns that are told as they are."""
        return tuple(tell.column for tell in self.tell)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that leave."""
        return self.told + self.confidential

    @model_validator(mode="after")
    def _columns_once(self) -> Self:
        if twice := repeated_in(self.columns):
            raise ValueError(
                f"column {twice[0]!r} is named twice; it is told as it is or confidential, once"
            )
        return self

    @model_validator(mode="after")
    def _known_method(self) -> Self:
        try:
            if self.method != AUTO:
                self.options_of(self.method)
            elif self.options:
                raise ValueError('options go with a method that is named, not with "auto"')
        except OptionError as error:
            raise ValueError(error.message) from None
        return self

    def options_of(self, name: str) -> dict[str, Any]:
        """Return the options with which a method is run. Raises OptionError."""
        # The methods load scipy, and most site files mask nothing.
        from pramana_core.mask.catalogue import METHODS
        from pramana_core.mask.core.masked import method_of

        method = method_of(name, METHODS)
        given = dict(self.options)
        for beside in ("max_leverage", "max_told"):
            if beside in self.options:
                raise OptionError(f"{beside} stands beside options, not in them")
        # A recommended method may take none; one that is named must. A bound on what is told is
        # kept or refused, whoever named the method.
        if self.max_leverage is not None and (
            self.method != AUTO or "max_leverage" in method.options
        ):
            given["max_leverage"] = self.max_leverage
        if self.max_told is not None:
            given["max_told"] = self.max_told
        if unknown := sorted(set(given) - set(method.options)):
            takes = ", ".join(method.options) or "no options"
            meant = did_you_mean(unknown[:1], method.options)
            raise OptionError(
                f"method {name!r} has no option {unknown[0]!r}{meant}; it takes {takes}"
            )
        return given


def masking_mistakes(section: MaskSection, record_id: str, read: dict[str, bool]) -> list[str]:
    """Return what is wrong with a section beside the rest of the site file."""
    found = [
        f"mask: column {name!r} is the record id and does not leave"
        for name in section.columns
        if name == record_id
    ]
    found += [
        f"mask: column {name!r} is confidential, and a variable reads it too: it would leave in two"
        " forms"
        for name in section.confidential
        if name in read
    ]
    found += [
        f"mask: column {name!r} would be told as it is, and a variable calls it sensitive"
        for name in section.told
        if read.get(name)
    ]
    return found

"""The root of the tree, and all that grew from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar


class PramanaError(Exception):
    """The base class of all errors of this package; `str(error)` is the message, then the remedy.

    Each class has a code and a title of its own, and inherits `http_status` and `exit_code` unless
    it sets them.

    Attributes:
        message: what was wrong.
        where: the parameter, column or field that was wrong, where there is one.
        remedy: what to do, where that is not in the message.

    Examples:
        >>> import pramana as pm
        >>> try:
        ...     pm.example("iris")
        ... except pm.PramanaError as error:
        ...     print(error.code, error.where)
        option-invalid name
    """

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Unforeseen error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    """What a command ends with: 1 unforeseen, 2 input, 3 keys, 4 refused by state or rights,
    5 transport, 6 estimation."""

    def __init_subclass__(
        cls, *, code: str, title: str, http_status: int | None = None, exit_code: int | None = None
    ) -> None:
        cls.code, cls.title = code, title
        cls.http_status = cls.http_status if http_status is None else http_status
        cls.exit_code = cls.exit_code if exit_code is None else exit_code

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}" if self.remedy else self.message


def error_classes() -> Iterator[type[PramanaError]]:
    """Yield every class of the tree, root first (for tables that must be complete)."""
    pending: list[type[PramanaError]] = [PramanaError]
    for current in pending:
        yield current
        pending += current.__subclasses__()

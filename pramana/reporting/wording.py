"""What the rooms below say in a message and a remedy, as one sentence for whoever calls them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import PramanaError


@contextmanager
def one_sentence(where: str | None = None) -> Iterator[None]:
    """Tell errors of the rooms below in one sentence, the remedy after a semicolon.

    Args:
        where: the argument that was wrong, where the error does not say it.
    """
    try:
        yield
    except PramanaError as error:
        raise in_one_sentence(error, where) from None


def in_one_sentence(error: PramanaError, where: str | None = None) -> PramanaError:
    """Return an error whose message and remedy are one sentence, of the same class."""
    parts = [error.message, *([error.remedy] if error.remedy else [])]
    said = [part for text in parts for part in _sentences(text)]
    # A class may want more than a message: what it has is kept, and only the words are others.
    made = error.__class__.__new__(error.__class__)
    made.__dict__.update(error.__dict__)
    made.message = "; ".join([said[0], *(_lowered(part) for part in said[1:])]) + "."
    made.remedy, made.where = None, error.where or where
    made.args = (made.message,)
    return made


def _sentences(text: str) -> list[str]:
    return [part.strip().rstrip(".") for part in text.replace("! ", ". ").split(". ") if part]


def _lowered(text: str) -> str:
    """Return a sentence as it goes on after a semicolon; names in capitals stay."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]

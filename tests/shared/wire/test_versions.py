"""Messages grow: whoever speaks an earlier version is answered without what came later."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from pramana_core.wire.base import Message, Page
from pramana_core.wire.learning.dashboard import Dashboard
from pramana_core.wire.privacy import TokenInfo
from pramana_core.wire.versions import CURRENT, FIRST, SERVED, added, grew, written


class Inner(Message):
    """A part that grew."""

    SINCE_2: ClassVar[tuple[str, ...]] = ("new",)

    old: int
    new: int | None = None


class Outer(Message):
    """A message with parts of every form, under a name that is none in Python."""

    SINCE_2: ClassVar[tuple[str, ...]] = ("late",)

    inner: Annotated[Inner, Field(alias="class")]
    several: list[Inner]
    by_name: dict[str, Inner]
    either: Inner | str
    at: datetime
    late: Inner | None = None


class Plain(Message):
    """A message that did not grow."""

    several: list[str]


ONE = {"old": 1, "new": 2}
WHOLE = Outer.model_validate(
    {
        "class": ONE,
        "several": [ONE, ONE],
        "by_name": {"a": ONE},
        "either": ONE,
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "late": ONE,
    }
)


def test_an_earlier_version_is_answered_without_what_came_later():
    old = {"old": 1}
    assert written(WHOLE, FIRST) == {
        "class": old,
        "several": [old, old],
        "by_name": {"a": old},
        "either": old,
        "at": "2026-01-01T00:00:00Z",
    }


def test_the_current_version_is_answered_in_full():
    assert written(WHOLE, CURRENT) == WHOLE.model_dump(mode="json")
    assert Outer.model_validate(written(WHOLE, CURRENT)) == WHOLE


def test_only_messages_that_grew_are_written_anew():
    assert grew(Outer)
    assert grew(Page[Outer])
    assert grew(list[Inner] | None)
    assert not grew(Plain)
    assert not grew(Page[Plain])


def messages(kind: type[BaseModel] = Message):
    for one in kind.__subclasses__():
        yield one
        yield from messages(one)


def test_what_came_later_may_be_absent_so_that_earlier_answers_are_read():
    for kind in messages():
        for name, version in added(kind).items():
            assert name in kind.model_fields, (kind, name)
            assert not kind.model_fields[name].is_required(), (kind, name)
            assert version in SERVED, (kind, name)


def test_what_holds_a_message_that_grew_grew_with_it():
    assert added(TokenInfo)["last_used"] == 2
    assert grew(Page[TokenInfo])
    assert grew(Dashboard)

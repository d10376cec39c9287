"""Messages of channels: made of what the families declare."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from pramana_core.channels import CHOICES, FAMILIES, RESOLUTION
from pramana_core.errors import ChannelError
from pramana_core.wire.channels import AnyChannel, message_of
from tests.shared.channels.examples import EXAMPLES

READ: TypeAdapter[Any] = TypeAdapter(AnyChannel)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_channel_comes_back_from_its_document(name: str):
    channel = EXAMPLES[name]
    message = READ.validate_json(json.dumps(channel.as_dict()))
    assert type(message) is message_of(type(channel))
    assert message.to_transition() == channel
    assert READ.dump_python(message) == channel.as_dict()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_message_refuses_keys_that_the_family_does_not_declare(family: type):
    channel = next(channel for channel in EXAMPLES.values() if type(channel) is family)
    document = channel.as_dict()
    with pytest.raises(ValidationError, match="Extra inputs"):
        READ.validate_python(document | {"more": 1})
    for key in document:
        with pytest.raises(ValidationError):
            READ.validate_python({k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"family": "symmetric", "size": 1, "off": 0}, ("symmetric", "size")),
        ({"family": "symmetric", "size": 3, "off": RESOLUTION + 1}, ("symmetric", "off")),
        ({"family": "symmetric", "size": 3.0, "off": 1}, ("symmetric", "size")),
        ({"family": "mixture", "size": 4, "keep": 2**64 + 1}, ("mixture", "keep")),
        ({"family": "dense", "rows": [[RESOLUTION, 0]]}, ("dense", "rows")),
        (
            {"family": "sampled", "sizes": [2], "choices": [{}] * (CHOICES + 1)},
            ("sampled", "choices"),
        ),
    ],
)
def test_a_message_has_the_ranges_that_the_family_declares(document: dict[str, Any], place: Any):
    with pytest.raises(ValidationError) as raised:
        READ.validate_python(document)
    assert raised.value.errors()[0]["loc"] == place


def test_a_message_may_be_well_formed_and_no_channel():
    with pytest.raises(ChannelError):
        READ.validate_python({"family": "symmetric", "size": 3, "off": RESOLUTION}).to_transition()
    grouped = {"family": "grouped", "groups": [[0], [0]], "channels": [None, None]}
    with pytest.raises(ChannelError, match="exactly once"):
        READ.validate_python(grouped).to_transition()

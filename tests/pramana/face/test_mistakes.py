"""Mistakes that newcomers make: each is answered in one sentence that names what was wrong."""

from __future__ import annotations

import re
import traceback

import pytest

from pramana_core.errors import EstimationError, PramanaError
from tests.pramana.face.mistakes import Call, all_mistakes

MISTAKES = all_mistakes()

MOST_FRAMES = 12
"""The most frames of ours in a traceback: those of learners and estimators are cut off."""

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)")


@pytest.mark.parametrize(
    ("call", "error", "where"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_a_mistake_is_answered_in_one_sentence(call: Call, error: type[PramanaError], where: str):
    with pytest.raises(PramanaError) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is error, message
    assert where in str(caught.value.where or message)
    assert "\n" not in message
    assert len(_SENTENCE_ENDS.findall(message)) == 1, message
    assert message.endswith("."), message
    assert message == message.strip()
    assert "".join(traceback.format_exception(caught.value)).count("Traceback (most") == 1
    within = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert error is not EstimationError or "/pramana_core/" not in " ".join(within)
    assert sum("/pramana/" in name for name in within) <= MOST_FRAMES

"""Mistakes that newcomers make: each is answered in one sentence, by class and place."""

from __future__ import annotations

import re
import traceback

import pytest

from pramana_core.errors import EstimationError, PramanaError
from tests.pramana.face.mistakes import all_mistakes

MOST_FRAMES = 12
"""The most frames of ours in a traceback: learners' and estimators' are cut off."""

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)")


@pytest.mark.parametrize(
    ("call", "error", "where"), [pytest.param(*rest, id=name) for name, *rest in all_mistakes()]
)
def test_a_mistake_is_answered_in_one_sentence(call, error, where):
    with pytest.raises(PramanaError) as caught:
        call()
    message = str(caught.value)
    assert type(caught.value) is error, message
    assert where is None or caught.value.where == where, message
    assert len(_SENTENCE_ENDS.findall(message)) == 1, message
    assert message.endswith("."), message
    assert "".join(traceback.format_exception(caught.value)).count("Traceback (most") == 1
    within = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert error is not EstimationError or "/pramana_core/" not in " ".join(within)
    assert sum("/pramana/" in name for name in within) <= MOST_FRAMES

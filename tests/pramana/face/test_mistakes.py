"""Mistakes that newcomers make: each is answered in one sentence of what is given and wanted."""

from __future__ import annotations

import re
import traceback
from collections import Counter

import pytest

from pramana_core.errors import EstimationError, PramanaError
from tests.pramana.face.mistakes import Mistake, all_mistakes

MISTAKES = all_mistakes()

LEAST = 60
"""So many mistakes there are in all."""

MOST_FRAMES = 12
"""So many frames of ours a traceback has at most: learners' and estimators' are cut off."""

_SENTENCE_ENDS = re.compile(r"[.!?](?=\s|$)")


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.name for mistake in MISTAKES])
def test_a_mistake_is_answered_in_one_sentence(mistake: Mistake):
    with pytest.raises(PramanaError) as caught:
        mistake.call()
    said = str(caught.value)
    assert type(caught.value) is mistake.error, said
    assert [word for word in mistake.words if word not in said] == [], said
    assert "\n" not in said
    assert len(_SENTENCE_ENDS.findall(said)) == 1, said
    assert said.endswith("."), said
    assert said == said.strip()
    assert "".join(traceback.format_exception(caught.value)).count("Traceback (most") == 1
    within = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert mistake.error is not EstimationError or "/pramana_core/" not in " ".join(within)
    assert sum("/pramana/" in name for name in within) <= MOST_FRAMES


def test_there_are_many_mistakes_and_none_twice():
    assert len(MISTAKES) >= LEAST
    assert all(mistake.words for mistake in MISTAKES)
    twice = [name for name, times in Counter(m.name for m in MISTAKES).items() if times > 1]
    assert twice == []

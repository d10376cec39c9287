"""Record ids: what nobody sees makes no other person, and what everybody sees does."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.record_ids import normalized_ids
from owner_agent.state.keys import Secrets

SECRETS = Secrets(b"9v" * 3 + bytes(range(26)), b"3k" * 3 + bytes(range(90, 116)))


def _normalized(text):
    return normalized_ids(pa.array([text], pa.string()))[0].as_py()


@pytest.mark.parametrize(
    "seen",
    ["７", "7\u200b", "\ufeff7", "\u20627", "7\ufe0f", " 7\t", "\u00a07", "7\u00ad", "7\x00", "⑦"],
)
def test_what_nobody_sees_makes_no_other_person(seen):
    assert _normalized(seen) == "7"
    one, other = pseudonyms(SECRETS, "asia", [seen, "7"]).tolist()
    assert one == other


@pytest.mark.parametrize("other", ["07", "7-", "7.0", "VII", "77", "7a"])
def test_what_people_see_is_another_id(other):
    one, two = pseudonyms(SECRETS, "asia", ["7", other]).tolist()
    assert one != two


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_ids_of_printable_ascii_stay_what_they_are(text):
    assert _normalized(text) == text.strip()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_normalized_id_stays_what_it_is(text):
    once = _normalized(text)
    assert _normalized(once) == once

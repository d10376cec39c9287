"""The list of measures: looked up by name, and written as a document."""

from __future__ import annotations

import json
import math

import pytest

from pramana_core.errors import MaskingError
from pramana_core.mask.measures.core.compared import Measure, Measures

ROWS = (
    Measure("slope", "utility", "debt given age", 0.5, None, "Half."),
    Measure("slope", "utility", "debt given income", math.nan, None, "None."),
    Measure("gain", "security", "debt", 0.1, 0.01, "Some."),
)
ALL = Measures(ROWS, 100, ("A note.",))


def test_a_measure_is_found_by_name_and_columns():
    assert ALL.of("gain") is ROWS[2]
    assert ALL.of("slope", "debt given age") is ROWS[0]
    assert ALL.named("slope") == ROWS[:2]
    assert ALL.group("security") == ROWS[2:]
    assert list(ALL) == list(ROWS)
    assert len(ALL) == 3


def test_the_worst_has_a_value():
    assert ALL.worst("slope", largest=False) is ROWS[0]
    assert ALL.worst("absent") is None


def test_what_is_not_there_or_not_alone_is_refused():
    with pytest.raises(MaskingError, match="no measure 'loss'") as caught:
        ALL.of("loss")
    assert "gain" in str(caught.value.remedy)
    with pytest.raises(MaskingError, match="2 measures 'slope'") as caught:
        ALL.of("slope")
    assert "debt given income" in str(caught.value.remedy)


def test_documents_are_json():
    document = json.loads(json.dumps(ALL.to_dict(), allow_nan=False))
    assert [row["value"] for row in document["rows"]] == [0.5, None, 0.1]
    assert (document["records"], document["notes"]) == (100, ["A note."])

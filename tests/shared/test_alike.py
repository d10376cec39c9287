"""What was meant by a name that is not there: capitals and marks first, then the spelling."""

import pytest

from pramana_core.alike import alike, did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "wanted"),
    [
        ("education", ["age", "Education"], "Education"),
        ("capital-gain", ["capital_loss", "Capital Gain"], "Capital Gain"),
        ("education", ["educaton", "EDUCATION"], "EDUCATION"),
        ("education", ["educaton", "age"], "educaton"),
        ("++", ["--", "age"], None),
        ("education", ["age", "sex"], None),
        ("education", [], None),
    ],
)
def test_what_is_closest_was_meant(name, known, wanted):
    assert alike(name, known) == wanted


def test_each_name_is_guessed_once_or_nothing_is_said():
    assert did_you_mean(["sex", "age", "x"], ["Age", "Sex"]) == " (did you mean 'Sex', 'Age'?)"
    assert did_you_mean(["sex"], ["Age"]) == ""

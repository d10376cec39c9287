"""What was meant by a name that is not there: capitals and marks first, then the spelling."""

import pytest

from pramana_core.alike import alike, did_you_mean, first_few


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


@pytest.mark.parametrize("number", [0, 1, 5, 6, 7, 20])
def test_a_list_shows_the_first_names_and_counts_the_others(number):
    names = [f"x{place}" for place in range(number)]
    said = first_few(iter(names), 6)
    shown, _, rest = said.partition(" and ")
    named = shown.split(", ") if shown else []
    assert named == names[:6]
    # What is shown and what is counted are all of them.
    assert (int(rest.removesuffix(" more")) if rest else 0) == max(0, number - 6)

"""Tables that are nearly one masked before: what is said of them is so, and else nothing is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pramana as pm
from pramana.masking.masking import _SESSION


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    _SESSION.clear()
    yield
    _SESSION.clear()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pm.example("store").head(400)[["age", "gender", "debt"]]


def said_of(frame: pd.DataFrame, earlier: object = None, hidden: str = "debt") -> tuple[str, str]:
    """Mask a frame; return what is said of earlier ones and how gravely, or empty words."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = pm.mask(frame, [hidden], "egadp", 2, earlier=earlier)
    about = [words for words in found.warnings if "masked before" in words]
    grave = [str(one.message) for one in told]
    assert grave in ([], about)
    return (about[0], about[0].gravity.name) if about else ("", "")


def loaded(frame: pd.DataFrame, folder: Path, hidden: str = "debt") -> pm.MaskedFrame:
    """Mask a frame as another session would have done."""
    pm.save(pm.mask(frame, [hidden], "egadp", 1), folder / "before.parquet")
    _SESSION.clear()
    return pm.load(folder / "before.parquet")


def test_independent_tables_of_which_only_sex_is_told_are_no_alarm(tmp_path):
    rng = np.random.default_rng(1)
    one, other = (
        pd.DataFrame({"sex": rng.choice(["f", "m"], 500), "inc": rng.normal(50, 9, 500)})
        for _ in range(2)
    )
    words, gravity = said_of(other, [loaded(one, tmp_path, "inc")], "inc")
    assert gravity == "NOTE"
    assert "too many records are alike in them to tell" in words


def test_told_categories_that_are_too_much_alike_for_chance_are_warned_of(tmp_path):
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 6, 500).astype(str) for name in ("town", "trade")}
    one = pd.DataFrame({**columns, "debt": rng.normal(50, 9, 500)})
    words, gravity = said_of(one.drop(index=3), [loaded(one, tmp_path)])
    assert gravity == "WARNING"
    assert "seems to have most of its records in common" in words
    _SESSION.clear()
    other = one.assign(town=rng.integers(0, 6, 500).astype(str), debt=rng.normal(50, 9, 500))
    assert said_of(other, [loaded(one, tmp_path)])[1] in ("", "NOTE")


def test_told_columns_that_identify_people_say_what_they_can(people, tmp_path):
    before = loaded(people, tmp_path)
    words, gravity = said_of(people.drop(index=7), [before])
    assert gravity == "GRAVE"
    assert words == (
        "By 'age', 'gender', this table lacks one record of one that was masked before. If the"
        " values of the others are as they were, the difference of the sums of 'debt' in both"
        " releases is its value. Release one of them."
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop(index=[3, 4]), "lacks 2 records of one .* sum of their values"),
        (
            lambda table: table.assign(debt=table["debt"].where(table.index != 5, 1.5)),
            "^One record of a table .* changed or replaced in this one.* before and now",
        ),
        (
            lambda table: table.drop(index=6).assign(debt=table["debt"].where(table.index > 2, 9)),
            "changed or replaced: 3 records of that and 2 records of this .* sums over these",
        ),
    ],
)
def test_records_gone_are_told_from_records_changed(people, change, words):
    pm.mask(people, ["debt"], "egadp", 1)
    changed = change(people)
    with pytest.warns(UserWarning, match=words):
        pm.mask(changed, ["debt"], "egadp", 2)
    with pytest.warns(UserWarning, match="masked before"):
        pm.mask(people.assign(debt=people["debt"].where(people.index != 9, 2.5)), ["debt"], "ipso")


def test_a_record_more_is_said_to_be_more(people):
    pm.mask(people.drop(index=1), ["debt"], "egadp", 1)
    with pytest.warns(UserWarning, match="has one record more than one .* is its value"):
        pm.mask(people, ["debt"], "egadp", 2)


def test_other_told_columns_leave_the_true_values_to_compare_by(people):
    pm.mask(people, ["debt"], "egadp", 1)
    with pytest.warns(UserWarning, match="lacks one record"):
        pm.mask(people.drop(index=1), ["debt"], "egadp", 2, tell=["age"])


def test_few_different_values_are_an_alarm_only_beyond_chance():
    rng = np.random.default_rng(3)

    def table(values: int) -> pd.DataFrame:
        return pd.DataFrame(
            {"sex": rng.choice(["f", "m"], 500), "debt": rng.integers(0, values, 500)}
        )

    assert said_of(table(2)) == ("", "")
    assert said_of(table(2))[1] in ("", "NOTE")
    several = table(30)
    said_of(several)
    assert said_of(several.drop(index=0))[1] == "GRAVE"


def test_what_is_remembered_is_a_hash_of_what_is_told_and_one_of_each_masked_cell(people):
    wide = people.assign(**{f"told{place}": people["age"] ** place for place in range(2, 8)})
    for _ in range(3):
        pm.mask(wide, ["debt"], "egadp", 1)
    (one,) = _SESSION
    kept = one.rows.nbytes + sum(cells.nbytes for cells in one.cells.values())
    assert kept == 2 * 4 * len(wide)
    assert one.told == tuple(sorted(set(wide) - {"debt"}))

"""Three inputs of public bug reports of tools in this field, with the answers they wanted.

Columns of one name (a synthesizer of tables), levels that a sample lacks (a library of networks and
one of learners), and cells of bytes, which came out with Python's own quotes around them.
"""

import unicodedata

import numpy as np
import pandas as pd
import pytest

import pramana as pm


@pytest.mark.parametrize("columns", [["age", "age"], [1, "1"], ["a ", "a"], ["\u00e9", "e\u0301"]])
def test_columns_of_one_name_are_refused_by_their_name(columns):
    frame = pd.DataFrame([["x", "y"], ["y", "x"]] * 4, columns=columns)
    domain = pm.Domain.of(a=["x", "y"])
    for use in (
        lambda: pm.observed_categories(frame),
        lambda: pm.domain(frame, {"a": ["x", "y"]}),
        lambda: pm.randomize(
            frame, pm.plan(domain, p=0.1), pm.Keys.for_experiments(1), record_id=frame.index
        ),
    ):
        with pytest.raises(pm.TableError) as refused:
            use()
        assert unicodedata.normalize("NFC", str(columns[0])).strip() in str(refused.value)


def test_an_ordered_type_gives_its_levels_in_order_also_those_that_a_sample_lacks():
    few = pd.Categorical(["low", "high", None] * 30, ["low", "middle", "high"], ordered=True)
    cut = pd.cut(np.arange(-45, 45), 3)
    found = pm.observed_categories(pd.DataFrame({"few": few, "cut": cut}))
    assert found["few"] == ["low", "middle", "high", "(empty)"]
    assert found["cut"] == [str(interval) for interval in cut.categories]
    frame = pd.DataFrame({"few": few, "cut": cut})
    domain = pm.domain(frame, found)
    plan = pm.plan(domain, p=0.2, public=["few"])
    reports = pm.randomize(frame, plan, pm.Keys.for_experiments(1), record_id=frame.index)
    table = pm.estimate(reports).table("few")
    assert dict(zip(table["few"], table["count"], strict=True)) == pytest.approx(
        {"low": 30, "middle": 0, "high": 30, "(empty)": 30}
    )


def test_bytes_are_the_text_that_they_spell_and_others_are_refused_by_their_column():
    text = pd.DataFrame({"city": ["Oslo", "Roma"] * 9})
    written = text.map(str.encode)
    assert pm.observed_categories(written) == pm.observed_categories(text)
    with pytest.raises(pm.TableError) as refused:
        pm.observed_categories(pd.DataFrame({"city": [b"\xff\xfe", b"Roma"] * 9}))
    assert "city" in str(refused.value)

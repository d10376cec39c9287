"""What is learned under one bound for the whole record: a short form of `make whole-record`."""

from __future__ import annotations

import json

from benchmarks.whole_record import ALL, EVERY, PAGE, RESULTS, page

"""Below these no mean of two runs falls: they are more than four deviations under means of five."""


def test_the_page_is_of_the_results_and_has_every_setting():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    wanted = [command.name for command in ALL]
    assert set(results) <= set(wanted)
    assert {name for name in wanted if name not in results} <= {one.name for one in EVERY}
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, results) == text
    assert page(text, results | {ALL[0].name: results[ALL[1].name]}) != text

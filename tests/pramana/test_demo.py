"""What a demonstration says of its intervals."""

from __future__ import annotations

from dataclasses import replace

from pramana.demo.report import DemoOutcome, Parameter


def test_an_interval_covers_where_the_truth_is_in_it():
    row = Parameter("A", "1", {}, 0.5, 0.4, 0.1, -1.0, 0.3, 0.6)
    outside = (replace(row, truth=0.2), replace(row, truth=0.7))
    unknown = replace(row, estimate=None, se=None, z=None)
    assert [one.covered for one in (row, *outside, unknown)] == [True, False, False, None]
    assert DemoOutcome("t", 9, (row, *outside, unknown), 1.0, None).coverage() == (1, 3)

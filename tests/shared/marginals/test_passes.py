"""Records in pieces: whatever is asked of them is to the bit what it is of them as one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from pramana_core.channels import Symmetric
from pramana_core.domain import Domain
from pramana_core.errors import JobCancelled, LimitExceeded, UnknownVariable
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import MARGINAL_CELLS, ReportedCounts
from pramana_core.marginals.passes import (
    JointCounts,
    PartitionedCounts,
    Pass,
    SetPass,
    counted_here,
    grouped,
)
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick

WIDE = Domain.of(**{f"v{i}": "wxyz" for i in range(12)})
SMALL = Domain.of(a="xy", b="xyz", c="wxyz")


def plan_of(domain: Domain, keep: float | None = 0.6) -> Plan:
    if keep is None:
        return Plan.unrandomized(domain)
    return Plan(tuple(Block((v,), Symmetric.from_probability(v.size, 1 - keep)) for v in domain))


class Cut:
    """Records cut at some places, whose passes are noted."""

    def __init__(
        self, whole: ReportedCounts, sizes: dict[str, int], cuts: Sequence[int], threads=1
    ):
        ends = [0, *sorted(cuts), whole.records]
        self.pieces = [partial(self._read, slice(*two)) for two in itertools.pairwise(ends)]
        self.whole, self.sizes, self.threads, self.passes = whole, sizes, threads, []

    def _read(self, rows: slice, names: Sequence[str]) -> ReportedCounts | None:
        columns = {name: self.whole.column(name)[rows] for name in names}
        return (
            ReportedCounts(columns, {name: self.sizes[name] for name in names})
            if rows.start < rows.stop
            else None
        )

    def __call__(self, asked: Pass, tick: Tick):
        self.passes.append(asked)
        found = counted_here(self.pieces, asked, tick, self.threads)
        assert found is not None
        return found


def both(domain: Domain, keep: float | None = 0.6, threads: int = 1, records: int = 3000):
    rng = np.random.default_rng(7)
    hidden = rng.integers(0, 2, records)
    columns = {
        v.name: (
            (hidden + (rng.random(records) < 0.3) * rng.integers(0, v.size, records)) % v.size
        ).astype(np.uint8)
        for v in domain
    }
    plan = plan_of(domain, keep)
    sizes = dict(plan.reported_sizes)
    whole = ReportedCounts(columns, sizes)
    cut = Cut(whole, sizes, [0, 1, 700, 700, 2999], threads)
    return plan, whole, PartitionedCounts(sizes, records, cut), cut


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("domain", [SMALL, WIDE])
def test_tables_are_those_of_the_records_as_one(domain: Domain, threads: int):
    _, whole, parted, cut = both(domain, threads=threads)
    asked = [domain.names[:2], domain.names[2:0:-1], domain.names[:1]]
    for names, table in zip(asked, parted.tables(asked), strict=True):
        assert table.dtype == np.int64
        np.testing.assert_array_equal(table, whole.table(names))
    np.testing.assert_array_equal(parted.table(asked[1]), whole.table(asked[1]))
    assert len(cut.passes) == 1


def test_what_is_not_there_or_too_large_is_refused_before_any_pass():
    domain = Domain.of(**{f"v{i}": "wxyz" for i in range(14)})
    _, _, parted, cut = both(domain)
    assert MARGINAL_CELLS < 4**14
    with pytest.raises(UnknownVariable):
        parted.table(["z"])
    with pytest.raises(UnknownVariable):
        parted.counted(JointCounts((("z",),)))
    with pytest.raises(LimitExceeded):
        parted.tables([domain.names[:2], domain.names])
    assert not [one for one in cut.passes if "v13" in one.names]


@pytest.mark.parametrize("keep", [None, 0.6])
@pytest.mark.parametrize("domain", [SMALL, WIDE])
def test_subpopulations_supports_and_tests_are_the_same_to_the_bit(
    domain: Domain, keep: float | None
):
    plan, whole, parted, _ = both(domain, keep)
    ours, theirs = EstimatedMarginals(parted, plan), EstimatedMarginals(whole, plan)
    names = domain.names
    one, other = ours.subpopulation(), theirs.subpopulation()
    for name in names[: len(names) - 2]:
        one, other = one.within(name, 1), other.within(name, 1)
        mine, its = one.table(names[-2:]), other.table(names[-2:])
        np.testing.assert_array_equal(mine.counts, its.counts)
        np.testing.assert_array_equal(mine.covariance, its.covariance)
    items = [(v.name, code) for v in domain for code in range(v.size)]
    last = len(items) - 1
    itemsets = np.array([[0, last], [1, last], [1, last - 1]])
    mine, its = (m.supports(items).counts(itemsets) for m in (ours, theirs))
    np.testing.assert_array_equal(mine.counts, its.counts)
    mine, its = (m.independence(names[:1], names[1:2], names[2:3]) for m in (ours, theirs))
    assert mine.ratio == its.ratio


def test_sampled_blocks_are_counted_by_sets_in_pieces():
    rng = np.random.default_rng(3)
    columns = {name: rng.choice([0, 1, 2], 900, p=[0.2, 0.1, 0.7]) for name in "abcd"}
    columns = {name: codes.astype(np.uint8) for name, codes in columns.items()}
    sizes = dict.fromkeys("abcd", 3)
    cut = Cut(ReportedCounts(columns, sizes), sizes, [10, 11, 500])
    parted = PartitionedCounts(sizes, 900, cut)
    found = parted.counted(SetPass(tuple("abcd"), (2, 2, 2, 2)))
    expected = grouped(list(columns.values()), [2] * 4)
    assert found.keys() == expected.keys()
    for members in expected:
        np.testing.assert_array_equal(found[members], expected[members])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_is_stopped_by_what_is_called_meanwhile(threads: int):
    _, _, _, cut = both(WIDE, threads=threads)

    def stop() -> None:
        raise JobCancelled("The job was cancelled.")

    with pytest.raises(JobCancelled):
        counted_here(cut.pieces, JointCounts((("v0",),)), stop, threads)

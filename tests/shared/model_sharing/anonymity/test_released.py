"""What leaves an owner: hits and misses, or distributions."""

import pytest

from pramana_core.errors import ModelError, OptionError
from pramana_core.model_sharing.requirements import released_form
from pramana_core.model_sharing.tree import Leaf
from tests.shared.model_sharing.anonymity.trees import by_city, leaf

GROWN = by_city(*[leaf(6, 4, 2)] * 5)


def test_hits_and_misses_tell_no_other_class():
    told = released_form(GROWN)
    assert set(told.leaves) == {Leaf(0, 6, 6)}
    assert all(one.distribution is None for one in told.leaves)
    assert [p.conditions for p in told.paths()] == [p.conditions for p in GROWN.paths()]


def test_distributions_are_told_if_there_are_some():
    assert released_form(GROWN, "distribution") == GROWN
    with pytest.raises(ModelError, match="do not all tell"):
        released_form(by_city(*[Leaf(0, 6, 6)] * 5), "distribution")
    with pytest.raises(OptionError, match="hits, distribution"):
        released_form(GROWN, "records")

"""Masked releases: the same bytes for the same table, and nothing that another one would tell."""

import numpy as np

from owner_agent.release.masked import NO_BOUND, MaskPlan, PreparedMask
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish
from owner_agent.state.keys import KeyStore
from pramana_core.mixed import basis_of, with_constant
from pramana_core.wire.parts import decode_part
from tests.owner_agent.release.kinds import KINDS, MASK

rows = KINDS["masked"].rows
site_text = MASK


def _publish(bench, **options):
    options.setdefault("part_records", 50)
    return publish(PreparedMask, bench.site, bench.environment, PublishOptions(**options))


def _told(release):
    """Return what arrived: pseudonyms, and columns by name."""
    table = release["manifest"].table
    parts = [decode_part(table.schema_of_parts, release["bodies"][n]) for n in (0, 1, 2)]
    names = table.schema_of_parts.sizes
    columns = {name: np.concatenate([part[1][name] for part in parts]) for name in names}
    return np.concatenate([part[0] for part in parts]), columns


def _unwatched(_stage, _done, _total):
    pass


def test_what_arrives_is_the_masked_table_sorted_by_pseudonym(shop):
    outcome = _publish(shop)
    (release,) = shop.miner.sealed()
    assert (outcome.records, outcome.parts, outcome.method) == (120, 3, "egadp")
    assert not outcome.already
    keys, columns = _told(release)
    assert keys.tolist() == sorted(keys.tolist())
    assert list(columns) == ["age", "gender", "expenditure", "debt"]
    chosen = MaskPlan.of(shop.site, KeyStore(shop.state).load(), _unwatched)
    told, true = chosen.table.unchanged, chosen.table.confidential.matrix()
    assert np.array_equal(columns["age"], told["age"].values)
    assert np.array_equal(columns["gender"], told["gender"].codes)
    masked = np.column_stack([columns["expenditure"], columns["debt"]])
    both = [np.column_stack([told["age"].values, told["gender"].codes, y]) for y in (true, masked)]
    assert np.allclose(np.cov(both[0].T), np.cov(both[1].T), rtol=1e-9)
    assert np.allclose(both[0].mean(axis=0), both[1].mean(axis=0), rtol=1e-9)
    # The noise is not what was there before: what S does not tell of the two is uncorrelated.
    basis = basis_of(with_constant(both[0][:, :2]))
    noise, rest = (y - basis @ (basis.T @ y) for y in (masked, true))
    correlation = np.corrcoef(noise.T, rest.T)[:2, 2:]
    assert np.abs(correlation).max() < 1e-9
    assert release["manifest"].table.protection[0] == NO_BOUND


def test_the_wire_holds_no_true_value_of_a_masked_column(shop):
    _publish(shop)
    (release,) = shop.miner.sealed()
    sent = b"".join([request.content for request in shop.miner.requests])
    _, columns = _told(release)
    for row in rows:
        _, _, _, *confidential = row.split(",")
        for name, text in zip(("expenditure", "debt"), confidential, strict=True):
            assert text.encode() not in sent
            assert np.float64(text).tobytes() not in sent
            assert not np.isin(np.float64(text), columns[name])
    # The negative control: what is told as it is is there.
    assert np.float64(rows[0].split(",")[1]).tobytes() in sent

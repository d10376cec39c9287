"""Masked releases: the same bytes for the same table, and nothing that another one would tell."""

import httpx
import numpy as np
import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.masked import PreparedMask, choose
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import publish, withdraw
from owner_agent.release.randomized import PreparedRecords
from owner_agent.report.releases import ledger_json
from owner_agent.state.keys import KeyStore
from pramana_core.errors import ConfigError, PlanConflict, ReleaseNotOpen, Unreachable
from pramana_core.mixed import basis_of, with_constant
from pramana_core.wire.parts import decode_part


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


@pytest.fixture
def arrived(shop):
    """What an undisturbed publication sends."""
    _publish(shop)
    (release,) = shop.miner.sealed()
    return release["manifest"], dict(release["bodies"])


def test_what_arrives_is_the_masked_table_sorted_by_pseudonym(shop):
    outcome = _publish(shop)
    (release,) = shop.miner.sealed()
    assert (outcome.records, outcome.parts, outcome.method) == (120, 3, "egadp")
    assert not outcome.already
    keys, columns = _told(release)
    assert keys.tolist() == sorted(keys.tolist())
    assert list(columns) == ["age", "gender", "expenditure", "debt"]
    chosen = choose(shop.site, KeyStore(shop.state).load(), _unwatched)
    told, true = chosen.table.told, chosen.table.confidential.matrix()
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
    assert release["manifest"].table.protection[0].startswith("Masked records carry no gamma")


def test_the_wire_holds_no_true_value_of_a_masked_column(shop, rows):
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


def test_publishing_again_sends_nothing(shop, arrived):
    before = len(shop.miner.requests)
    outcome = _publish(shop)
    assert outcome.already
    new = [f"{r.method} {r.url.path.rsplit('/', 1)[-1]}" for r in shop.miner.requests[before:]]
    assert new == ["GET releases", "POST releases"]
    assert len(shop.miner.releases) == 1


def test_the_order_of_rows_and_another_folder_change_no_byte(shop, arrived, rows, written):
    manifest, bodies = arrived
    other = type(shop)(shop.folder / "other", type(shop.miner)())
    other.folder.mkdir()
    other.write((shop.folder / "site.toml").read_text(), written(rows[::-1]))
    other.join()
    _publish(other)
    (release,) = other.miner.sealed()
    assert release["manifest"] == manifest
    assert release["bodies"] == bodies


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("request_number", range(7))
def test_killed_at_any_request_and_continued_it_is_the_same_release(
    shop, arrived, killed, tmp_path, rows, written, when, request_number
):
    manifest, bodies = arrived
    other = type(shop)(tmp_path / "other", type(shop.miner)())
    other.folder.mkdir()
    other.write((shop.folder / "site.toml").read_text(), written(rows))
    other.join()
    other.miner.faults = [None] * request_number + [(when, killed())]
    with pytest.raises(killed):
        _publish(other)
    _publish(other)
    (release,) = other.miner.sealed()
    assert release["manifest"] == manifest
    assert release["bodies"] == bodies
    (entry,) = Ledger(other.state).entries()
    assert entry.state == "sealed"


def test_a_release_is_continued_with_what_was_written_and_not_masked_again(
    shop, arrived, monkeypatch
):
    """A library that rounds otherwise would give other bytes: the outbox has those that left."""
    import owner_agent.release.masked as module

    egadp = module.METHODS["egadp"]

    def rounded(told, true, rng, **options):
        made = egadp(told, true, rng, **options)
        return type(made)(made.method, made.values, made.matrix * (1 + 1e-15))

    changed = {"egadp": type(egadp)(**{**vars(egadp), "run": rounded})}
    monkeypatch.setattr(module, "METHODS", changed)
    assert _publish(shop).already
    assert len(shop.miner.releases) == 1


def test_a_miner_that_does_not_answer_is_told_with_the_command_that_continues(shop):
    shop.miner.faults = [None] * 3 + [("before", httpx.ConnectError("gone"))]
    with pytest.raises(Unreachable) as raised:
        _publish(shop)
    assert "`owner-agent mask --publish` continues" in raised.value.remedy


def test_a_table_changed_by_one_record_is_refused(shop, arrived, rows, written, site_text):
    shop.write(site_text, written(rows[:-1]))
    with pytest.raises(PlanConflict, match="'expenditure' left masked, from other records"):
        _publish(shop)
    assert len(shop.miner.releases) == 1
    one, *rest = rows
    shop.write(site_text, written([one[:-1] + "9", *rest]))
    with pytest.raises(PlanConflict, match="left masked"):
        _publish(shop)
    _publish(shop, accept_added_loss=True)
    assert len(shop.miner.sealed()) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('method = "egadp"', 'method = "gadp"'),
        ('method = "egadp"', 'method = "egadp"\nmax_leverage = 0.4'),
        ('method = "egadp"', 'method = "egadp"\ncopies = 2'),
        ('["age", {', "[{"),
    ],
)
def test_another_way_to_mask_the_same_table_is_refused(shop, arrived, site_text, old, new):
    shop.write(site_text.replace(old, new))
    with pytest.raises(PlanConflict, match="left masked"):
        _publish(shop)


VARIABLE = """
[[variables]]
name = "spent"
column = "{column}"
cuts = [250, 300]
sensitive = {sensitive}
{channel}
"""
CHANNEL = 'channel = { kind = "symmetric", p = 0.4 }'


def _randomized(site_text, column="expenditure", sensitive="true", channel=CHANNEL):
    head = site_text.partition("[mask]")[0]
    return head + VARIABLE.format(column=column, sensitive=sensitive, channel=channel)


def test_a_masked_column_is_not_randomized_later(shop, arrived, site_text):
    shop.write(_randomized(site_text))
    with pytest.raises(PlanConflict, match="left masked, and would leave randomized now"):
        publish(PreparedRecords, shop.site, shop.environment, PublishOptions())
    shop.write(_randomized(site_text, sensitive="false", channel=""))
    with pytest.raises(PlanConflict, match="left masked, and would leave as it is now"):
        publish(PreparedRecords, shop.site, shop.environment, PublishOptions())


def test_a_randomized_column_is_neither_masked_nor_told_later(shop, site_text):
    shop.write(_randomized(site_text))
    publish(PreparedRecords, shop.site, shop.environment, PublishOptions())
    shop.write(site_text)
    with pytest.raises(PlanConflict, match=r"left randomized \(epsilon 1\.099\), and would leave"):
        _publish(shop)
    told = site_text.replace('["expenditure", "debt"]', '["debt"]')
    shop.write(told.replace('["age",', '["age", "expenditure",'))
    with pytest.raises(PlanConflict, match=r"'expenditure': epsilon 1\.099 would become inf"):
        _publish(shop)
    shop.write(told)
    assert _publish(shop).records == 120


def test_withdrawing_works_and_the_same_is_not_published_again(shop, arrived):
    (entry,) = Ledger(shop.state).entries()
    withdraw(shop.site, entry.name, shop.environment)
    (entry,) = Ledger(shop.state).entries()
    assert entry.state == "withdrawn"
    with pytest.raises(ReleaseNotOpen) as raised:
        _publish(shop)
    assert "it needs --accept-added-loss" in raised.value.remedy


@pytest.mark.slow
def test_the_ledger_shows_a_masked_release_as_one_without_a_bound(shop, arrived):
    (entry,) = Ledger(shop.state).entries()
    assert (entry.kind, entry.method, entry.follows_plan) == ("masked-records", "egadp", False)
    told = ledger_json([entry])
    assert told["masked_columns"] == ["debt", "expenditure"]
    assert set(told["composed_epsilon"].values()) == {None}
    assert [v["masked"] for v in told["releases"][0]["variables"]] == [False, False, True, True]
    content = (shop.state / "ledger.sqlite").read_bytes()
    assert b"masked-records" in content


def test_copies_are_masked_independently_and_named_by_number(shop, site_text):
    shop.write(site_text + "copies = 3\n")
    _publish(shop)
    (release,) = shop.miner.sealed()
    _, columns = _told(release)
    masked = [f"{name}@{copy}" for name in ("expenditure", "debt") for copy in (1, 2, 3)]
    assert list(columns) == ["age", "gender", *masked]
    pair = np.corrcoef(columns["debt@1"], columns["debt@2"])[0, 1]
    assert pair < 0.9  # they share what age tells, and not the noise
    assert len({columns[name].tobytes() for name in masked}) == 6


def test_a_site_without_mask_section_says_so(bench):
    with pytest.raises(ConfigError, match="no section"):
        PreparedMask.of(bench.site, _unwatched)


def test_a_site_that_masks_alone_has_nothing_to_randomize(shop):
    with pytest.raises(ConfigError, match="only columns to mask"):
        publish(PreparedRecords, shop.site, shop.environment, PublishOptions())


def test_on_a_full_disk_nothing_is_done_by_halves_and_room_is_all_it_needs(shop):
    shop.done_where_room_is_short(lambda: _publish(shop))

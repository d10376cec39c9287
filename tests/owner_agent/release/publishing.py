"""Publishing a randomized table at a miner in memory in parts of 20, and what arrives there."""

import itertools
from dataclasses import replace
from datetime import timedelta

from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, publish
from pramana_core.wire.parts import RecordSchema, decode_part


def published(bench, watch=None, **options):
    """Publish in parts of 20 records unless another number is asked for."""
    options.setdefault("part_records", 20)
    more = () if watch is None else (watch,)
    return publish(PreparedRecords, bench.site, bench.environment, PublishOptions(**options), *more)


def drawn_anew(bench, seconds=0, **options):
    """Begin a new epoch, and publish in it what left before."""
    now = bench.environment.now() + timedelta(seconds=seconds)
    begin_new_epoch(bench.site, replace(bench.environment, now=lambda: now), anyway=True)
    return published(bench, accept_added_loss=True, **options)


def reports_of(release):
    """Return what arrived as {pseudonym: reports}."""
    plan = release["manifest"].plan.to_plan()
    found = {}
    for number in sorted(release["bodies"]):
        keys, columns = decode_part(RecordSchema.of(plan), release["bodies"][number])
        rows = zip(*(columns[name].tolist() for name in plan.domain.names), strict=True)
        found.update(zip((bytes(k) for k in keys), rows, strict=True))
    return found


def by_draw(release):
    """Return the reports by block that arrived, with what was said of their draws."""
    manifest = release["manifest"]
    plan = manifest.plan.to_plan()
    found = {block.name: {} for block in plan.blocks if block.name != "region"}
    for body in release["bodies"].values():
        keys, columns = decode_part(RecordSchema.of(plan), body)
        for block in found:
            found[block] |= zip(map(bytes, keys), columns[block].tolist(), strict=True)
    draws = dict(zip((block.name for block in plan.blocks), manifest.keyed_draws, strict=True))
    return {(block, draws[block]): reports for block, reports in found.items()}


def differences(releases):
    """Return how many records two releases report differently by one draw."""
    return sum(
        one[draw][key] != other[draw][key]
        for one, other in itertools.combinations(map(by_draw, releases), 2)
        for draw in one.keys() & other.keys()
        for key in one[draw].keys() & other[draw].keys()
    )

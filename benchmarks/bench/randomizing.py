"""The owner's draws and pseudonyms: keyed and repeatable, beside ways that are neither."""

from __future__ import annotations

import hmac
import itertools
from functools import partial
from hashlib import sha256

import numpy as np

from benchmarks.bench.measuring import Bench, Comparison
from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.reports import Randomizer
from owner_agent.state.keys import Secrets
from pramana_core.channels import Symmetric
from pramana_core.design.families import independent, sampled
from pramana_core.design.requirement import Requirements
from pramana_core.domain import Domain
from pramana_core.marginals.counts import Codes
from pramana_core.plan import Block, Plan
from pramana_core.wire.parts import Pseudonyms

SECRETS = Secrets(sha256(b"a benchmark's draw key").digest(), sha256(b"its linkage").digest())
CENSUS = Domain.of(a="1234", b="12345", c="12345", d="12345", e="12", f="12")
"""The sizes of FRAPP's CENSUS table: 2,000 cells."""


def keys_of(records: int) -> Pseudonyms:
    """Return pseudonyms, as random as real ones."""
    return np.frombuffer(np.random.default_rng(8).bytes(16 * records), dtype="V16")


def reported(plan: Plan, keys: Pseudonyms, clean: dict[str, Codes]) -> dict[str, Codes]:
    """Return the reports of records by keyed draws, in one thread."""
    return Randomizer(plan, SECRETS, "study", threads=1).reports(keys, clean)


def columns(bench: Bench) -> list[Comparison]:
    """Randomize a column of five categories; and six, all or a random pair of each record."""
    rng = np.random.default_rng(1)
    records = bench.size(1_000_000)
    keys, codes = keys_of(records), rng.integers(0, 5, records).astype(np.uint8)
    channel = Symmetric.from_gamma(5, 9.0)
    plan = Plan((Block(Domain.of(v="abcde").variables, channel),))

    def unkeyed() -> np.ndarray:
        keep = rng.random(records) < channel.keep_units / 2**32
        return np.where(keep, codes, (codes + rng.integers(1, 5, records)) % 5)

    one = partial(reported, plan, keys, {"v": codes})
    folder = bench.saved(v=codes)
    pure_ldp = bench.peer("randomizing.pure_ldp", folder=folder, name="v", categories=5, gamma=9.0)
    clean = {v.name: rng.integers(0, v.size, records).astype(np.uint8) for v in CENSUS}
    needs = Requirements(CENSUS, dict.fromkeys(CENSUS.names, 19.0), 19.0)
    pairs = sampled(list(itertools.combinations(CENSUS.names, 2)))(needs)
    return [
        Comparison(
            "randomize a 5-category column, 1M records",
            "numpy's generator, not keyed, not secure",
            one,
            unkeyed,
            aim=0.7,
        ),
        Comparison(
            "the same column beside pure-ldp",
            "pure-ldp's direct encoding",
            one,
            pure_ldp,
            aim=0.1,
            rounds=3,
        ),
        Comparison(
            "randomize one random pair of six columns, 1M records",
            "all six columns by channels of their own",
            partial(reported, pairs, keys, clean),
            partial(reported, independent(needs), keys, clean),
            aim=1.0,
        ),
    ]


def record_ids(bench: Bench) -> list[Comparison]:
    """Make pseudonyms of as many record ids as pay for compiled loops."""
    ids = [f"P{i:07d}" for i in range(bench.size(1_000_000))]
    return [
        Comparison(
            "pseudonyms of 1M records",
            "hmac.digest, one call a record",
            lambda: pseudonyms(SECRETS, "study", ids),
            lambda: [hmac.digest(SECRETS.linkage, i.encode(), "sha256")[:16] for i in ids],
            rounds=3,
        )
    ]


GROUPS = (columns, record_ids)

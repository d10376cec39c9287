"""Which records are found at which owners, from the pseudonyms of their sealed releases.

Equal sets are recognised by their digests. Otherwise the sorted pseudonyms are merged; nothing is
ever joined silently.

Also here:

* Whether owners' pseudonyms were made under one linkage secret, by the releases' fingerprints.
* Joining owners' releases: the records a job uses, and the marginals over them.
* Whether releases that follow one study plan reported the same set of each record: an owner that
  drew by another linkage secret is found by one record that no value of the coin explains.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from miner_service.alignment.pieces import (
    PassPlace,
    RecordSet,
    Rows,
    groups_in_ranges,
    record_counts,
    record_sets,
)
from miner_service.store.columns import KeyText
from pramana_core.channels import RESOLUTION, Coordinated, pieces
from pramana_core.errors import CoinsDisagree, RecordsDoNotAlign
from pramana_core.estimation.estimated import EstimatedMarginals
from pramana_core.marginals.counts import Marginals, ReportedCounts
from pramana_core.marginals.passes import CountedRecords, PartitionedCounts, Pass
from pramana_core.plan import Block, Plan
from pramana_core.progress import Tick, no_cancel
from pramana_core.wire.base import Records
from pramana_core.wire.jobs import CountsSpec
from pramana_core.wire.parts import Values
from pramana_core.wire.releases import (
    AlignedOwner,
    Alignment,
    AlignmentState,
    SecretsState,
    secrets_differ,
)

Marks = npt.NDArray[np.uint64]

_AT_ONCE = 1 << 18
"""So many records are looked at at once."""


# Whether releases that follow one study plan reported the same set of each record.
#
# A study plan's coin says which set a record reports, at all owners alike. An owner that drew by
# another linkage secret, or chose for itself, reports sets of its own: the loss that the plan
# states does not hold then, and estimates from the owners together would be wrong. One record is
# enough to see it: what it reports at all owners must be possible at some value of the coin.
def require_one_coin(
    blocks: Sequence[tuple[str, Block]], reports: CountedRecords, tick: Tick = no_cancel
) -> None:
    """Check the reports of records that some owners have, by their blocks.

    Args:
        blocks: each owner's name and block; those that are no part of a study plan are passed by.
        reports: the reported codes of the records.
        tick: called all along; what it raises stops the check.

    Raises:
        CoinsDisagree: some records report what no value of a coin gives together.
    """
    by_coin: dict[str, list[tuple[str, Block]]] = {}
    for owner, block in blocks:
        if isinstance(block.channel, Coordinated):
            by_coin.setdefault(block.channel.coin, []).append((owner, block))
    for coin, parts in by_coin.items():
        if len(parts) > 1:
            _require_together(coin, parts, reports, tick)


def _require_together(
    coin: str, parts: Sequence[tuple[str, Block]], reports: CountedRecords, tick: Tick
) -> None:
    wrong = reports.counted(CoinPass(tuple(block for _, block in parts)), tick)
    if wrong:
        owners = [owner for owner, _ in parts]
        raise CoinsDisagree(
            f"Of {reports.records} records that {owners} report by the study plan {coin[:12]}...,"
            f" {wrong} report sets that no value of its coin gives together.",
            where=", ".join(owners),
            remedy="An owner used another linkage secret, or did not let the coin choose; the"
            " loss that the plan states does not hold for these records. Let all owners publish"
            " anew by one linkage secret, in a study of its own.",
        )


@dataclass(frozen=True)
class CoinPass:
    """A pass that counts the records that report, by some blocks of one coin, what it never gives.

    A set of variables is known by the sum of their marks: of 2^64, none meet by chance.
    """

    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(name for block in self.blocks for name in block.names)

    def __call__(self, reports: ReportedCounts, tick: Tick, /) -> int:
        """Return how many of some records do."""
        marks = [np.array([_mark(name) for name in b.names], dtype=np.uint64) for b in self.blocks]
        possible, wrong = _possible(self.blocks, marks), 0
        for start in range(0, reports.records, _AT_ONCE):
            tick()
            part = slice(start, start + _AT_ONCE)
            reported = np.zeros(min(_AT_ONCE, reports.records - start), dtype=np.uint64)
            for block, own in zip(self.blocks, marks, strict=True):
                for variable, mark in zip(block.variables, own, strict=True):
                    # The last code says that the variable is withheld.
                    told = reports.column(variable.name)[part] != variable.size
                    np.add(reported, mark, out=reported, where=told)
            wrong += int(np.count_nonzero(~np.isin(reported, possible)))
        return wrong


def _mark(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])


def _possible(blocks: Sequence[Block], marks: Sequence[Marks]) -> Marks:
    """Return the sums of marks of every set that the coin has the owners report together."""
    channels = [block.channel for block in blocks if isinstance(block.channel, Coordinated)]
    joint = pieces(channels)
    own = [
        [int(marked[list(choice.axes)].sum(dtype=np.uint64)) for choice in channel.choices]
        for channel, marked in zip(channels, marks, strict=True)
    ]
    # Sums of unsigned integers go round at 2^64, as those of the records do.
    sums = [
        sum(own[part][place] for part, place in enumerate(places) if place is not None) % (1 << 64)
        for _, places in joint
    ]
    nothing = [0] if sum(weight for weight, _ in joint) < RESOLUTION else []
    return np.array(sums + nothing, dtype=np.uint64)


# Whether owners' pseudonyms were made under one linkage secret, by the releases' fingerprints.
#
# Under another secret the same person has another pseudonym: that two owners have none in common
# then says nothing of whom they know.


@dataclass(frozen=True)
class LinkageSecrets:
    """The owners of some releases, grouped by the fingerprints of their linkage secrets.

    Of the owners in `unsaid` a release has no fingerprint; from that nothing is concluded.
    """

    groups: tuple[tuple[str, ...], ...]
    unsaid: tuple[str, ...]

    @classmethod
    def of(cls, releases: Iterable[tuple[str, str | None]]) -> LinkageSecrets:
        """Return the groups of releases, each given by its owner and its fingerprint."""
        found: dict[str, dict[str, None]] = {}
        unsaid: dict[str, None] = {}
        for owner, linkage in releases:
            (unsaid if linkage is None else found.setdefault(linkage, {}))[owner] = None
        return cls(tuple(tuple(owners) for owners in found.values()), tuple(unsaid))

    @property
    def state(self) -> SecretsState:
        """Whether there is one secret; not known where a fingerprint is missing."""
        if len(self.groups) > 1:
            return "different"
        return "same" if self.groups and not self.unsaid else "unknown"


"""Which records a job uses; see `wire.BayesNetParametersSpec`."""

T = TypeVar("T")

LoadKeys = Callable[[str], KeyText]
"""Returns the pseudonyms of a sealed release, ascending."""

_CACHED = 256


@dataclass(frozen=True)
class AlignedSource:
    """An owner's release that takes part in an alignment.

    Without records it has no digest of pseudonyms, and nothing of it can align. `linkage` is the
    fingerprint of the secret that made them, where its owner told one; `columns_digest` the
    SHA-256 of the file of its columns.
    """

    owner: str
    release: str
    digest: str
    keys_digest: str | None
    records: int
    linkage: str | None = None
    columns_digest: str | None = None


@dataclass(frozen=True)
class Overlap:
    """How many records are at every source, at any, and per source not at every one."""

    in_all: int
    in_any: int
    not_everywhere: tuple[int, ...]


@dataclass(frozen=True)
class Aligner:
    """Compares releases, remembering what it found: sealed releases never change."""

    load_keys: LoadKeys
    _known: dict[tuple[str, ...], dict[tuple[bool, ...], int]] = field(default_factory=dict)
    _apart: dict[tuple[str, ...], bool] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def align(
        self,
        study: str,
        sources: Sequence[AlignedSource],
        missing: Sequence[str],
        *,
        no_records: bool = False,
    ) -> Alignment:
        """Return the alignment of sources; `missing` names owners that have no release yet.

        `no_records` says that releases are in use, and none of them, or of the sources, has any.
        """
        if no_records:
            return Alignment(
                study=study,
                state="waiting" if missing else "no-records",
                owners=[],
                missing=list(missing),
                in_all=None,
                in_any=None,
                digest=_digest(study, sources, missing),
            )
        overlap = self.overlap(sources)
        secrets = LinkageSecrets.of((source.owner, source.linkage) for source in sources)
        return Alignment(
            study=study,
            state=_state(overlap, waiting=bool(missing) or not sources),
            owners=[
                AlignedOwner(
                    owner=source.owner,
                    release=source.release,
                    records=source.records,
                    keys_digest=str(source.keys_digest),
                    not_everywhere=absent,
                )
                for source, absent in zip(sources, overlap.not_everywhere, strict=True)
            ],
            missing=list(missing),
            in_all=overlap.in_all,
            in_any=overlap.in_any,
            digest=_digest(study, sources, missing),
            secrets=secrets.state,
            secret_groups=_groups(secrets),
        )

    def overlap(self, sources: Sequence[AlignedSource]) -> Overlap:
        """Return how far the sources' records are the same."""
        counts = self._counted(sources) if sources else {}
        return _overlap(counts, [source.records for source in sources])

    def together(self, sources: Sequence[AlignedSource]) -> Mapping[frozenset[str], int]:
        """Return how many records are at exactly which releases, where there are any."""
        names = [source.release for source in sources]
        return {
            frozenset(itertools.compress(names, there)): records
            for there, records in self._counted(sources).items()
        }

    def _counted(self, sources: Sequence[AlignedSource]) -> Mapping[tuple[bool, ...], int]:
        if len({source.keys_digest for source in sources}) == 1:
            return {(True,) * len(sources): sources[0].records}
        wanted = tuple(source.release for source in sources)
        with self._lock:
            if wanted not in self._known:
                if len(self._known) >= _CACHED:
                    self._known.pop(next(iter(self._known)))
                self._known[wanted] = record_counts([self.load_keys(name) for name in wanted])
            return self._known[wanted]

    def different_people(self, by_owner: Sequence[Sequence[AlignedSource]]) -> bool:
        """Return whether no record is at two owners, each given by all its releases."""
        wanted = tuple(source.release for sources in by_owner for source in sources)
        first = [{source.keys_digest for source in sources} for sources in by_owner]
        if any(a & b for a, b in itertools.combinations(first, 2)):
            return False
        with self._lock:
            if wanted not in self._apart:
                if len(self._apart) >= _CACHED:
                    self._apart.pop(next(iter(self._apart)))
                keys = ([self.load_keys(s.release) for s in sources] for sources in by_owner)
                self._apart[wanted] = apart(keys)
            return self._apart[wanted]

    def common(self, sources: Sequence[AlignedSource]) -> list[Rows]:
        """Return, per source, which of its records are at every source."""
        return common_rows([self.load_keys(source.release) for source in sources])


def shown_to_owner(alignment: Alignment, owner: str) -> Alignment:
    """Return what an owner may see: nothing that tells whether another knows a given person."""
    if alignment.state in ("partial", "disjoint"):
        state: AlignmentState = "mismatch"
    else:
        state = alignment.state
    own = [row for row in alignment.owners if row.owner == owner]
    if state == "identical":
        return alignment.model_copy(update={"owners": own, "same": []})
    hidden = [row.model_copy(update={"not_everywhere": None}) for row in own]
    return alignment.model_copy(
        update={"state": state, "owners": hidden, "in_all": None, "in_any": None, "same": []}
    )


def overlap_of(keys: Sequence[KeyText]) -> Overlap:
    """Return the overlap of ascending arrays of pseudonyms."""
    return _overlap(record_counts(keys), [len(own) for own in keys])


def _overlap(counts: Mapping[tuple[bool, ...], int], records: Sequence[int]) -> Overlap:
    in_all = counts.get((True,) * len(records), 0)
    return Overlap(in_all, sum(counts.values()), tuple(own - in_all for own in records))


def apart(groups: Iterable[Sequence[KeyText]]) -> bool:
    """Return whether no pseudonym is in two of some groups of ascending arrays."""
    groups = [list(group) for group in groups]
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found = groups_in_ranges([keys for group in groups for keys in group])
    return all(len(set(owner[list(group.sources)])) == 1 for group in found)


def common_rows(keys: Sequence[KeyText]) -> list[Rows]:
    """Return, per ascending array, where those pseudonyms are that are in all arrays."""
    for found in record_sets(keys):
        if all(found.sources):
            return [rows for rows in found.rows if rows is not None]
    return [slice(0, 0)] * len(keys)


def require_aligned(alignment: Alignment, records: Records | None) -> None:
    """Check that records may be joined.

    Raises:
        RecordsDoNotAlign: the owners' records are not the same set (with `common`: no record is
            at every owner), or an owner has no sealed release in use.
    """
    if alignment.state == "waiting":
        raise RecordsDoNotAlign(
            f"Not every owner has a sealed release in use; waiting for {alignment.missing}."
            if alignment.missing
            else "No owner has a sealed release in use yet that the job could learn from.",
            where=alignment.study,
            remedy="Wait for them, or remove the owners that will not take part.",
        )
    if records == "any":
        return
    if alignment.secrets == "different" and alignment.state != "identical":
        raise RecordsDoNotAlign(
            f"{secrets_differ(alignment.secret_groups)} One person has other pseudonyms under"
            f" each, so no records of theirs can be joined. Of {alignment.in_any} pseudonyms at any"
            f" owner, {alignment.in_all} are at every owner.",
            where=alignment.study,
            remedy="Agree on one linkage secret: the owners with another one withdraw their"
            ' releases, import it and publish again. Ask for `"records": "any"` only if the owners'
            " know different people.",
        )
    if alignment.state == "disjoint" or (alignment.state == "partial" and records != "common"):
        each = ", ".join(f"{o.owner} {o.records} ({o.not_everywhere})" for o in alignment.owners)
        raise RecordsDoNotAlign(
            f"Of {alignment.in_any} records at any owner, {alignment.in_all} are at every owner."
            f" Records per owner (of these not everywhere): {each}.",
            where=alignment.study,
            remedy="Check that the owners share one linkage secret and one form of record ids, or"
            ' ask for `"records": "any"` if they know different people.'
            if alignment.state == "disjoint"
            else 'Let the owners publish the same records, or ask for `"records": "common"` or'
            ' `"any"`.',
        )


def _groups(secrets: LinkageSecrets) -> list[list[str]]:
    """Return the owners who share a secret, where they do not all share one."""
    return [list(group) for group in secrets.groups] if secrets.state == "different" else []


def _state(overlap: Overlap, *, waiting: bool) -> AlignmentState:
    if waiting:
        return "waiting"
    if overlap.in_all == overlap.in_any:
        return "identical"
    return "partial" if overlap.in_all else "disjoint"


def _digest(study: str, sources: Sequence[AlignedSource], missing: Sequence[str]) -> str:
    content = [study, sorted([s.owner, s.digest, s.keys_digest] for s in sources), sorted(missing)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


# Joining owners' releases: the records a job uses, and the marginals over them.

LoadColumns = Callable[[str, Sequence[str]], Mapping[str, Values]]
"""Returns some columns of a sealed release."""


@dataclass(frozen=True)
class PlannedRelease:
    """A sealed release with its plan."""

    source: AlignedSource
    plan: Plan


Needed = Sequence[tuple[PlannedRelease, tuple[Block, ...]]]
"""The blocks that a job needs, by release."""


@dataclass(frozen=True)
class RecordAccess:
    """How a job comes to the records of releases: what aligns them, reads them, and counts them.

    Not more than `piece_records` are counted at once.
    """

    aligner: Aligner
    load: LoadColumns
    count: PassPlace
    piece_records: int


def marginals_of(
    spec: CountsSpec,
    releases: Sequence[PlannedRelease],
    needed: Needed,
    access: RecordAccess,
    variables: Sequence[str],
    tick: Tick = no_cancel,
) -> Marginals:
    """Return the marginals of some variables over the records that a job uses.

    What `tick` raises stops an estimate.

    Raises:
        CoinsDisagree: owners that follow one study plan report different sets of a record.
        DomainError: with records `any`, two owners give a variable different categories.
    """
    strata = [
        _stratum(sources, needed, present, records, access, tick)
        for sources, present, records in _chosen(spec, releases, needed, access.aligner)
    ]
    return EstimatedMarginals.of(
        strata, estimator=spec.estimator, order=spec.order, variables=variables, tick=tick
    )


Chosen = tuple[Sequence[AlignedSource], tuple[bool, ...] | None, int]
"""Sources whose pseudonyms say which records are meant, at which of them exactly these are, and how
many they are; None stands for all, where the pseudonyms are the same."""


def _chosen(
    spec: CountsSpec, releases: Sequence[PlannedRelease], needed: Needed, aligner: Aligner
) -> list[Chosen]:
    """Return the sets of records of a job."""
    asked = [release.source for release, _ in needed]
    # Records in common are those of all releases in use, not only of those that are needed.
    sources = asked if spec.records == "any" else [release.source for release in releases]
    if len({source.keys_digest for source in sources}) == 1:
        return [(asked, None, sources[0].records)]
    counts = aligner.together(sources)
    if spec.records == "any":
        names = [source.release for source in sources]
        found = {tuple(name in there for name in names): n for there, n in counts.items()}
        return [(sources, present, found[present]) for present in sorted(found)]
    everywhere = frozenset(source.release for source in sources)
    return [(sources, (True,) * len(sources), counts[everywhere])]


def _stratum(
    sources: Sequence[AlignedSource],
    needed: Needed,
    present: tuple[bool, ...] | None,
    records: int,
    access: RecordAccess,
    tick: Tick,
) -> tuple[PartitionedCounts, Plan]:
    """Return the reports of a set of records and the plan they were made under."""
    there = present or (True,) * len(sources)
    having = {source.release for source, has in zip(sources, there, strict=True) if has}
    blocks = [
        (release.source, block)
        for release, own in needed
        if release.source.release in having
        for block in own
    ]
    whole = Plan.combine([Plan(tuple(block for _, block in blocks))])
    chosen = RecordSet(
        releases=tuple(source.release for source in sources),
        digests=tuple(source.columns_digest for source in sources),
        columns=tuple(
            tuple(name for owner, block in blocks if owner == source for name in block.names)
            for source in sources
        ),
        sizes=whole.reported_sizes,
        present=present,
    )
    pieces = chosen.pieces(
        [source.records for source in sources], access.aligner.load_keys, access.piece_records
    )

    def run(asked: Pass[T], tick: Tick, /) -> T:
        return access.count(chosen, pieces, asked, tick)

    reports = PartitionedCounts(whole.reported_sizes, records, run, tick)
    require_one_coin([(source.owner, block) for source, block in blocks], reports, tick)
    return reports, whole

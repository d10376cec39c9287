"""Alignment of sealed releases: which records each set of owners has, from sorted pseudonyms."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from miner_service.alignment.ranges import Rows, common_rows, groups_in_ranges, record_counts
from miner_service.store.columns import KeyText
from pramana_core.errors import RecordsDoNotAlign
from pramana_core.wire.base import Records
from pramana_core.wire.releases import (
    AlignedOwner,
    Alignment,
    AlignmentState,
    SecretsState,
    secrets_differ,
)


@dataclass(frozen=True)
class LinkageSecrets:
    """The owners grouped by their linkage fingerprint. Owners in `unstated` sent no fingerprint."""

    groups: tuple[tuple[str, ...], ...]
    unstated: tuple[str, ...]

    @classmethod
    def of(cls, releases: Iterable[tuple[str, str | None]]) -> LinkageSecrets:
        """Group releases, each given by its owner and fingerprint."""
        found: dict[str, dict[str, None]] = {}
        unstated: dict[str, None] = {}
        for owner, linkage in releases:
            (unstated if linkage is None else found.setdefault(linkage, {}))[owner] = None
        return cls(tuple(tuple(owners) for owners in found.values()), tuple(unstated))

    @property
    def state(self) -> SecretsState:
        """Whether all owners have the same secret; "unknown" if a fingerprint is missing."""
        if len(self.groups) > 1:
            return "different"
        return "same" if self.groups and not self.unstated else "unknown"


LoadKeys = Callable[[str], KeyText]
"""A function that returns the ascending pseudonyms of a sealed release, given its id."""

_CACHED = 256


@dataclass(frozen=True)
class AlignedSource:
    """An owner's sealed release as a source of records, with the digests of its two files.

    `linkage` is the fingerprint of the linkage secret. Releases without records have no digests.
    """

    owner: str
    release: str
    digest: str
    keys_digest: str | None
    records: int
    linkage: str | None = None
    columns_digest: str | None = None


class Aligner:
    """Compares releases and caches the results, because sealed releases never change."""

    def __init__(self, load_keys: LoadKeys) -> None:
        self.load_keys = load_keys
        self._counts = lru_cache(_CACHED)(self._count)
        self._disjoint = lru_cache(_CACHED)(self._are_disjoint)

    def align(
        self,
        study: str,
        sources: Sequence[AlignedSource],
        missing: Sequence[str],
        *,
        no_records: bool = False,
    ) -> Alignment:
        """Return the alignment of sources; owners in `missing` have no release in use."""
        digest = _digest(study, sources, missing)
        if no_records:
            return Alignment(
                study=study,
                state="waiting" if missing else "no-records",
                owners=[],
                missing=list(missing),
                in_all=None,
                in_any=None,
                digest=digest,
            )
        counts = self._pattern_counts(sources) if sources else {}
        in_all, in_any = counts.get((True,) * len(sources), 0), sum(counts.values())
        if missing or not sources:
            state: AlignmentState = "waiting"
        elif in_all == in_any:
            state = "identical"
        else:
            state = "partial" if in_all else "disjoint"
        secrets = LinkageSecrets.of((source.owner, source.linkage) for source in sources)
        different = secrets.state == "different"
        return Alignment(
            study=study,
            state=state,
            owners=[
                AlignedOwner(
                    owner=source.owner,
                    release=source.release,
                    records=source.records,
                    keys_digest=str(source.keys_digest),
                    not_everywhere=source.records - in_all,
                )
                for source in sources
            ],
            missing=list(missing),
            in_all=in_all,
            in_any=in_any,
            digest=digest,
            secrets=secrets.state,
            secret_groups=[list(group) for group in secrets.groups] if different else [],
        )

    def together(self, sources: Sequence[AlignedSource]) -> Mapping[frozenset[str], int]:
        """Return the count of records for each exact set of releases that have them."""
        names = [source.release for source in sources]
        return {
            frozenset(itertools.compress(names, there)): records
            for there, records in self._pattern_counts(sources).items()
        }

    def _pattern_counts(self, sources: Sequence[AlignedSource]) -> Mapping[tuple[bool, ...], int]:
        if len({source.keys_digest for source in sources}) == 1:
            return {(True,) * len(sources): sources[0].records}
        return self._counts(tuple(source.release for source in sources))

    def _count(self, releases: tuple[str, ...]) -> Mapping[tuple[bool, ...], int]:
        return record_counts([self.load_keys(name) for name in releases])

    def different_people(self, by_owner: Sequence[Sequence[AlignedSource]]) -> bool:
        """Return whether no two owners share a record; `by_owner` has each owner's releases."""
        digests = [{source.keys_digest for source in sources} for sources in by_owner]
        if any(a & b for a, b in itertools.combinations(digests, 2)):
            return False
        return self._disjoint(tuple(tuple(s.release for s in sources) for sources in by_owner))

    def _are_disjoint(self, by_owner: tuple[tuple[str, ...], ...]) -> bool:
        owner = [place for place, releases in enumerate(by_owner) for _ in releases]
        keys = [self.load_keys(name) for releases in by_owner for name in releases]
        return all(
            len(set(itertools.compress(owner, group.sources))) == 1
            for group in groups_in_ranges(keys)
        )

    def common(self, sources: Sequence[AlignedSource]) -> list[Rows]:
        """Return, for each source, the rows of the records that all sources have."""
        return common_rows([self.load_keys(source.release) for source in sources])


def shown_to_owner(alignment: Alignment, owner: str) -> Alignment:
    """Return an owner's view, which does not reveal whether another owner has a given person."""
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


def require_aligned(alignment: Alignment, records: Records | None) -> None:
    """Check that records may be joined. Raises RecordsDoNotAlign."""
    if alignment.state == "waiting":
        raise RecordsDoNotAlign(
            f"Not every owner has a sealed release in use: {alignment.missing} have none."
            if alignment.missing
            else "No owner has a sealed release in use that the job could learn from.",
            where=alignment.study,
            remedy="Wait for these owners, or remove owners that will not take part.",
        )
    if records == "any":
        return
    if alignment.secrets == "different" and alignment.state != "identical":
        raise RecordsDoNotAlign(
            f"{secrets_differ(alignment.secret_groups)} A person has a different pseudonym under"
            f" each secret, so records cannot be joined. Of {alignment.in_any} pseudonyms at any"
            f" owner, {alignment.in_all} are at every owner.",
            where=alignment.study,
            remedy="Agree on one linkage secret. Owners with a different secret withdraw their"
            ' releases, import the secret and publish again. Set the option records to "any" only'
            " if the owners have different people.",
        )
    if alignment.state == "disjoint" or (alignment.state == "partial" and records != "common"):
        each = ", ".join(f"{o.owner} {o.records} ({o.not_everywhere})" for o in alignment.owners)
        raise RecordsDoNotAlign(
            f"Of {alignment.in_any} records at any owner, {alignment.in_all} are at every owner."
            f" Records per owner (in parentheses: not at every owner): {each}.",
            where=alignment.study,
            remedy="Check that the owners share one linkage secret and one form of record ids. If"
            ' they have different people, set the option records to "any".'
            if alignment.state == "disjoint"
            else "Ask the owners to publish the same records, or set the option records to"
            ' "common" or "any".',
        )


def _digest(study: str, sources: Sequence[AlignedSource], missing: Sequence[str]) -> str:
    content = [study, sorted([s.owner, s.digest, s.keys_digest] for s in sources), sorted(missing)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()

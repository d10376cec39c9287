"""Releases on the wire: what each kind of them holds, and how they are announced and aligned.

The records of their parts are in `pramana_core.wire.parts`. What differs by kind is asked of the
catalogue; storing and using releases is up to the miner.
"""

from pramana_core.wire.releases.messages import (
    AlignedOwner,
    Alignment,
    AlignmentState,
    Consistency,
    PartManifest,
    PartReceipt,
    Release,
    ReleaseBody,
    ReleaseCreate,
    ReleaseState,
    RepeatedReports,
    SameReleases,
    SecretsState,
    release_digest,
)

__all__ = [
    "AlignedOwner",
    "Alignment",
    "AlignmentState",
    "Consistency",
    "PartManifest",
    "PartReceipt",
    "Release",
    "ReleaseBody",
    "ReleaseCreate",
    "ReleaseState",
    "RepeatedReports",
    "SameReleases",
    "SecretsState",
    "release_digest",
]

"""What the miner asks of the place where its records are: parts of open releases, and columns.

A file that has its name is whole. Only names that the service made itself become paths. Several
processes may share one place; none removes what another is writing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from pramana_core.errors import StoreCorrupt

IDENTITY = "identity"
"""The name of what holds the identity of the store, beside its parts and columns."""

States = Callable[[], Mapping[str, str]]
"""Asks the rows for the state of every release there is, by id."""


class Segments(Protocol):
    """Where parts and columns are.

    All methods raise StorageFull where there is no room, and NotReady where the place does not
    answer; then nothing was changed.
    """

    @property
    def place(self) -> str:
        """Where it is, in words that may be shown."""

    def identity(self) -> str | None:
        """Return the identity of the store that the files are of, if they have one."""

    def identify(self, identity: str) -> None:
        """Keep the identity of the store, durably, if there is none.

        Of two that do so at once an object store may keep the last.
        """

    def kept(self) -> dict[str, set[str]]:
        """Return of which releases there are `parts`, and of which `columns`."""

    def prepare(self) -> None:
        """Make what is needed, and remove what processes that ended left half done."""

    def check(self) -> None:
        """Try to store a little. Raises NotReady, also where there is no room."""

    def scratch_path(self) -> Path:
        """Return a fresh name for a local file that is being written."""

    def put_part(self, release: str, number: int, scratch: Path) -> None:
        """Keep a finished local file as a part; when this returns it survives a power cut.

        The file is taken away, whatever happens.
        """

    def read_part(self, release: str, number: int, sha256: str) -> bytes:
        """Return a part's bytes. Raises StoreCorrupt if they are not those acknowledged."""

    def drop_part(self, release: str, number: int) -> None:
        """Remove one part."""

    def drop_parts(self, release: str) -> None:
        """Remove a release's parts."""

    def put_data(self, release: str, scratch: Path) -> None:
        """Keep a finished local file as the columns of a release, durably; it is taken away."""

    def data_path(self, release: str) -> Path:
        """Return a local file with the columns of a sealed release, to be mapped.

        Where there are none the file is not there.
        """

    def verify_data(self, release: str, sha256: str) -> None:
        """Check the columns of a sealed release. Raises StoreCorrupt."""

    def drop_data(self, release: str) -> None:
        """Remove a release's columns. A job that has them open may finish reading."""

    def orphans(self, states: States) -> list[str]:
        """Return what is kept and no release needs: `parts/ID` and `columns/ID`.

        `states` is asked after the files were listed: a file that is listed has had its row
        before. Parts are needed while their release is open; columns also while it is, because
        another process may just be sealing it.
        """

    def sweep(self, states: States) -> list[str]:
        """Remove what `orphans` names, and what processes that ended left; return the names."""


def require_part(release: str, number: int, body: bytes, sha256: str) -> bytes:
    """Return the bytes of a part. Raises StoreCorrupt if they are not those acknowledged."""
    if hashlib.sha256(body).hexdigest() != sha256:
        raise StoreCorrupt(
            f"Part {number} of release {release} is not as it was acknowledged.",
            where=release,
            remedy="Restore the data directory from a backup. Without one, withdraw the release;"
            " more or corrected records are another release.",
        )
    return body


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def damaged_columns(release: str) -> StoreCorrupt:
    """Return the error for columns that are not as they were sealed."""
    return StoreCorrupt(
        f"The columns of release {release} are not as they were sealed.",
        where=release,
        remedy="Restore the data directory from a backup. Without one, withdraw the release;"
        " more or corrected records are another release.",
    )


def part_name(number: int) -> str:
    """Return the name of a part's file."""
    return f"{number:05d}.part"


_NEEDS = {"parts": frozenset({"open"}), "columns": frozenset({"open", "sealed"})}


def unneeded(kept: Mapping[str, Iterable[str]], states: Mapping[str, str]) -> list[str]:
    """Return which parts and columns, by release, no release needs in its state."""
    return [
        f"{kind}/{release}"
        for kind, releases in kept.items()
        for release in sorted(releases)
        if states.get(release) not in _NEEDS[kind]
    ]


def drop(segments: Segments, names: Iterable[str]) -> None:
    """Remove what `unneeded` names."""
    for name in names:
        kind, _, release = name.partition("/")
        (segments.drop_parts if kind == "parts" else segments.drop_data)(release)

"""Columns that were fetched from elsewhere, in a directory of bounded size."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FRESH_SECONDS = 60.0
"""A file asked for so short a time ago is not removed: somebody is about to map it."""


@dataclass(frozen=True)
class Cache:
    """A directory of files by release; what was not asked for the longest makes room."""

    folder: Path
    most_bytes: int

    def path(self, release: str) -> Path:
        """Return where a release's columns are, if they are there."""
        return self.folder / f"{release}.arrow"

    def found(self, release: str) -> bool:
        """Whether a release's columns are there; they count as asked for now."""
        try:
            os.utime(self.path(release))
        except FileNotFoundError:
            return False
        return True

    def drop(self, release: str) -> None:
        """Remove a release's columns."""
        self.path(release).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the releases whose columns are there."""
        return [path.stem for path in self.folder.iterdir()]

    def make_room(self, wanted: int) -> None:
        """Remove what was not asked for the longest until `wanted` bytes more are in the bound."""
        there = []
        for path in self.folder.iterdir():
            with suppress(FileNotFoundError):
                info = path.stat()
                there.append((info.st_mtime, info.st_size, path))
        too_much = sum(size for _, size, _ in there) + wanted - self.most_bytes
        for used, size, path in sorted(there):
            if too_much <= 0 or time.time() - used < FRESH_SECONDS:
                return
            path.unlink(missing_ok=True)
            too_much -= size

"""Results on disk: made ready out of sight, and there under their name whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from owner_agent.state.private_files import (
    DIRECTORY_MODE,
    private_directory,
    sync_directory,
    write_durably,
)
from pramana_core.full_disks import storing

_UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class Staged:
    """Files that are written durably but do not have their name yet."""

    hidden: Path
    final: Path

    def publish(self) -> Path:
        """Give the files their name in one step; return the folder. Harmless if done before."""
        if self.hidden.exists():
            self.hidden.rename(self.final)
            sync_directory(self.final.parent)
        return self.final

    def discard(self) -> None:
        """Remove the files, unless they have their name already."""
        shutil.rmtree(self.hidden, ignore_errors=True)


def staged_in(results: Path, session: str) -> Staged:
    """Return where a session's files are before and after they have their name."""
    return Staged(results / f"{_UNFINISHED}{session}", results / session)


def stage(results: Path, session: str, files: Mapping[str, bytes]) -> Staged:
    """Write the result of a session where nobody looks for it yet."""
    with storing("a folder", results):
        results.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    for stale in results.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(stale)
    made = staged_in(results, session)
    private_directory(made.hidden)
    for name, content in files.items():
        write_durably(made.hidden / name, content)
    sync_directory(made.hidden)
    return made

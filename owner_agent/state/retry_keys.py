"""The keys of requests that may have to be sent again, kept for as long as the answer is missing.

Whoever has such a key and what was sent is given the answer, so it is random and in a private file.
It is on disk before the request is sent: an agent that is killed meanwhile asks with the same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from owner_agent.state.history import state_directory
from owner_agent.state.private_files import (
    private_directory,
    refuse_if_open_to_others,
    sync_directory,
    write_new,
)

_BYTES = 32


@dataclass(frozen=True)
class RetryKey:
    """The key of one request in a state directory; `request` is what tells it from others.

    The file's name is a digest of `request`, which may be a secret.
    """

    state: Path
    request: str

    @property
    def path(self) -> Path:
        """The file that the key is kept in."""
        digest = hashlib.sha256(b"pramana/retry/1\x00" + self.request.encode()).hexdigest()
        return self.state / "retries" / f"{digest[:32]}.key"

    def kept(self, random_bytes: Callable[[int], bytes]) -> str:
        """Return the key, made and on disk if there is none yet.

        Args:
            random_bytes: draws so many.

        Raises:
            KeyFileError: others may read it.
            StorageFull: there is no room for it.
        """
        state_directory(self.state)
        private_directory(self.path.parent)
        try:
            write_new(self.path, random_bytes(_BYTES).hex().encode())
        except FileExistsError:
            refuse_if_open_to_others(self.path, f"chmod 600 {self.path}")
        return self.path.read_text(encoding="ascii")

    def forget(self) -> None:
        """Remove the key: the answer is on disk."""
        self.path.unlink(missing_ok=True)
        sync_directory(self.path.parent)

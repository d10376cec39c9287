"""An owner's two secrets as a person handles them."""

from __future__ import annotations

import hashlib
import secrets as system
from pathlib import Path

from owner_agent.state.keys import Keys as Secrets
from owner_agent.state.keys import KeyStore, fingerprint
from shared.errors import OptionError


class Keys:
    """The draw key and the linkage secret of an owner (see `create`)."""

    def __init__(self, secrets: Secrets, where: str):
        self._secrets = secrets
        self._where = where

    @classmethod
    def create(cls, folder: str | Path) -> Keys:
        """Make new secrets in a folder that only you can read. Raises KeyFileError."""
        store = KeyStore(Path(folder))
        store.create("draw", system.token_bytes)
        store.create("linkage", system.token_bytes)
        return cls(store.load(), str(folder))

    @classmethod
    def open(cls, folder: str | Path) -> Keys:
        """Read the secrets of a folder. Raises KeyFileError."""
        return cls(KeyStore(Path(folder)).load(), str(folder))

    @classmethod
    def for_experiments(cls, seed: int) -> Keys:
        """Return keys that anybody can make from the seed: on public data, to repeat a result."""
        if not isinstance(seed, int):
            raise OptionError(f"seed must be a whole number, not {seed!r}.", where="seed")
        made = (
            hashlib.sha256(f"pramana experiment {name} {seed}".encode()).digest()
            for name in ("draw", "linkage")
        )
        return cls(Secrets(*made), f"seed {seed}: for experiments only")

    @property
    def secrets(self) -> Secrets:
        """The secrets themselves, which no printed form shows."""
        return self._secrets

    def __repr__(self) -> str:
        return f"Keys({self._where}; draw key {fingerprint('draw', self._secrets.draw)})"

"""The two secrets of an owner, `draw` and `linkage`, in files that only the owner can read.

The `draw` key never leaves the site. The `linkage` secret is shared by all owners of a study and by
nobody else.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn, Self

from owner_agent.state.ledger_file import (
    know_draw_key,
    knows_draw_key,
    state_directory,
    used_draw_key,
)
from owner_agent.state.private_files import (
    private_directory,
    read_secret,
    refuse_if_open_to_others,
    save,
    write_new,
)
from pramana_core.errors import KeyFileError

KeyName = Literal["draw", "linkage"]
KEY_LENGTH = 32
EXAMPLE_KEY = bytes(range(KEY_LENGTH))
"""The sample value in the documentation, rejected as a secret."""

_MEANING: dict[KeyName, str] = {"draw": "draw key", "linkage": "linkage secret"}
_HOW_TO_GET: dict[KeyName, str] = {
    "draw": "Run `owner-agent keys create`.",
    "linkage": "Run `owner-agent keys import linkage FILE` with the secret of the other owners. "
    "If you are the first owner, run `owner-agent keys create --linkage` instead.",
}


_LOST_DRAW = (
    "This site had a draw key: restore the state folder from your backup. If the key is lost for"
    " good, run `owner-agent keys create` and then `owner-agent new-epoch`, which randomizes all"
    " records again and adds the privacy loss."
)


@dataclass(frozen=True)
class Secrets:
    """Both secrets of an owner. Printed forms omit them. Raises KeyFileError for a weak secret."""

    draw: bytes = field(repr=False)
    linkage: bytes = field(repr=False)

    def __post_init__(self) -> None:
        for name, secret in (("draw", self.draw), ("linkage", self.linkage)):
            _refuse_weak(secret, f"The {name} key")
        if self.draw == self.linkage:
            raise KeyFileError(
                "The draw key and the linkage secret are the same bytes.",
                remedy="Other owners know the linkage secret, so create a separate draw key.",
            )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyFileError(
            "Keys cannot be pickled.",
            remedy="A pickle would reveal the keys. Load keys where they are needed.",
        )


def fingerprint(name: KeyName, secret: bytes) -> str:
    """Return 16 hexadecimal digits that identify a secret without revealing it."""
    prefix = f"pramana/fingerprint/1/{name}\x00".encode()
    return hashlib.sha256(prefix + secret).hexdigest()[:16]


def linkage_fingerprint(secret: bytes, study: str) -> str:
    """Return HMAC-SHA-256 of a study by a linkage secret, for owners who share it to compare."""
    message = b"pramana/linkage-fingerprint/1\x00" + study.encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class KeyStore:
    """The key files in a state directory."""

    state: Path

    def path(self, name: KeyName) -> Path:
        """Return the path of a key file."""
        return self.state / "keys" / f"{name}.key"

    def find(self, name: KeyName) -> bytes | None:
        """Return a secret, or None if it is missing.

        Raises KeyFileError if the secret is weak or other users can read the file.
        """
        path = self.path(name)
        return self._read(path) if path.exists() else None

    def _read(self, path: Path) -> bytes:
        refuse_if_open_to_others(path.parent, f"chmod 700 {path.parent}")
        return read_key(path)

    def read(self, *names: KeyName) -> bytes:
        """Return the first of the named secrets. Raises KeyFileError unless all of them exist."""
        paths = {name: self.path(name) for name in names}
        missing = [n for n, path in paths.items() if not (path.exists() or path.is_symlink())]
        if missing:
            raise KeyFileError(
                f"{self.path('draw').parent} has no"
                f" {' and no '.join(_MEANING[name] for name in missing)}.",
                where=", ".join(missing),
                remedy=" ".join(
                    _LOST_DRAW
                    if name == "draw" and used_draw_key(self.state)
                    else _HOW_TO_GET[name]
                    for name in missing
                ),
            )
        return self._read(paths[names[0]])

    def load(self) -> Secrets:
        """Return both secrets. Raises KeyFileError."""
        return Secrets(self.read("draw", "linkage"), self.read("linkage"))

    def load_or_passing(self, random_bytes: Callable[[int], bytes]) -> Secrets:
        """Return both secrets for a preview, with a temporary secret in place of a missing one."""
        draw, linkage = (self.find(name) or random_bytes(KEY_LENGTH) for name in _MEANING)
        return Secrets(draw, linkage)

    def load_alone(self) -> Secrets:
        """Return both secrets. A missing linkage secret is derived from the draw key.

        Records then cannot be linked to other owners' records. Raises KeyFileError.
        """
        draw = self.load_draw()
        alone = hmac.new(draw, b"pramana/linkage-alone/1", hashlib.sha256).digest()
        return Secrets(draw, self.find("linkage") or alone)

    def load_draw(self) -> bytes:
        """Return the draw key, for releases without pseudonyms. Raises KeyFileError."""
        return self.load().draw if self.path("linkage").exists() else self.read("draw")

    def add(self, name: KeyName, secret: bytes) -> None:
        """Store a secret that does not exist yet; record it in the ledger. Raises KeyFileError."""
        _refuse_weak(secret, f"The {_MEANING[name]}")
        state_directory(self.state)
        private_directory(self.path(name).parent)
        if name == "draw" and not self.path(name).exists():
            know_draw_key(self.state, fingerprint("draw", secret))
        try:
            write_new(self.path(name), secret.hex().encode() + b"\n")
        except FileExistsError:
            raise KeyFileError(
                f"The {_MEANING[name]} {self.path(name)} exists already and was not changed.",
                where=str(self.path(name)),
                remedy="Keep the existing secret. Another one would randomize the same records a "
                "second time, which reveals more.",
            ) from None

    def create(self, name: KeyName, random_bytes: Callable[[int], bytes]) -> None:
        """Create a secret that does not exist yet. Raises KeyFileError."""
        self.add(name, random_bytes(KEY_LENGTH))

    def know_draw(self) -> None:
        """Record the draw key in the ledger if the key exists. Raises KeyFileError."""
        if (known := self.fingerprints()["draw"]) is not None:
            know_draw_key(self.state, known)

    @property
    def unknown_draw(self) -> str | None:
        """The fingerprint of the draw key if the ledger does not list the key; otherwise None."""
        found = self.fingerprints()["draw"]
        return None if found is None or knows_draw_key(self.state, found) else found

    def export_linkage(self, target: Path) -> None:
        """Write the linkage secret to a private file. Raises KeyFileError, OptionError."""
        save(target, self.read("linkage").hex().encode() + b"\n", "file")

    def linkage_fingerprint(self, study: str) -> str | None:
        """Return the linkage secret's fingerprint for a miner, or None if the secret is missing."""
        secret = self.find("linkage")
        return None if secret is None else linkage_fingerprint(secret, study)

    def fingerprints(self) -> dict[KeyName, str | None]:
        """Return the fingerprint of each secret, or None if it is missing."""
        found = {name: self.find(name) for name in _MEANING}
        return {n: None if key is None else fingerprint(n, key) for n, key in found.items()}


def read_key(path: Path) -> bytes:
    """Return the secret in a text file with 64 hexadecimal digits. Raises KeyFileError."""
    text = read_secret(path)
    if not re.fullmatch(r"[0-9A-Fa-f]{64}", text):
        raise KeyFileError(
            f"The key file {path} does not contain a key of {KEY_LENGTH} bytes.",
            where=str(path),
            remedy="The file must contain 64 hexadecimal digits.",
        )
    secret = bytes.fromhex(text)
    _refuse_weak(secret, f"The key in {path}")
    return secret


def _refuse_weak(secret: bytes, what: str) -> None:
    if len(secret) != KEY_LENGTH:
        raise KeyFileError(f"{what} has {len(secret)} bytes, not {KEY_LENGTH}.")
    if len(set(secret)) == 1 or secret == EXAMPLE_KEY:
        raise KeyFileError(
            f"{what} is easy to guess.",
            remedy="Create a random key with `owner-agent keys create`.",
        )

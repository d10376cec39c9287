"""An owner's two secrets as one object."""

from __future__ import annotations

import hashlib
import secrets as system
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Self

from owner_agent.state.keys import KeyStore, Secrets, fingerprint, read_key
from pramana.frames.sentences import one_sentence
from pramana.frames.tables import shown
from pramana_core.errors import KeyFileError, OptionError


class Keys:
    """An owner's two secrets, which key the random draws of the owner's records.

    The draw key decides every random draw and never leaves the owner. The linkage secret is shared
    by all owners of a study and by nobody else: it determines the pseudonyms by which their records
    are joined. With the same keys, a record gets the same report every time. Other keys would
    randomize the record again and so reveal more. Create keys once, and keep them.

    The folder has the format of the agent's state directory, so the agent can use these keys, and
    this class can use the agent's. No printed form shows a secret. Keys cannot be pickled, and a
    copy is the same object. Use `create` and `open` instead of the constructor.

    Args:
        secrets: both secrets, in the agent's form.
        where: the location of the keys, for the printed form.

    Raises KeyFileError.

    Examples:
        >>> import pramana as pm, tempfile
        >>> folder = tempfile.mkdtemp() + "/keys"
        >>> made = pm.Keys.create(folder)
        >>> pm.Keys.open(folder).fingerprints == made.fingerprints
        True
    """

    def __init__(self, secrets: Secrets, where: str):
        if not isinstance(secrets, Secrets):
            raise KeyFileError(
                f"Keys cannot be made from {shown(secrets)}; write pm.Keys.create(folder) once, and"
                " pm.Keys.open(folder) later.",
                where="keys",
            )
        self._secrets = secrets
        self._where = where

    @classmethod
    def create(cls, folder: str | Path, linkage: str | Path | None = None) -> Keys:
        """Create both secrets, or the one that is missing, in a folder that only you can read.

        Args:
            folder: a new folder, or one that only you can access (mode 700).
            linkage: the file with the other owners' linkage secret (see `export_linkage`); None
                creates a new secret.

        Raises KeyFileError.
        """
        store = KeyStore(_path(folder, "folder"))
        given = None if linkage is None else _linkage(_path(linkage, "linkage"))
        with one_sentence("folder"), _disk_errors(folder):
            there = [name for name, known in store.fingerprints().items() if known is not None]
        if len(there) == 2:
            raise KeyFileError(
                f"folder {str(folder)!r} already contains keys, and new keys would randomize the"
                " same records a second time; open the existing keys with"
                f" pm.Keys.open({str(folder)!r}).",
                where="folder",
            )
        with one_sentence("folder"), _disk_errors(folder):
            if "linkage" not in there:
                store.add("linkage", system.token_bytes(32) if given is None else given)
            elif given is not None and given != store.read("linkage"):
                raise KeyFileError(
                    f"folder {str(folder)!r} contains a linkage secret that differs from the one"
                    f" in linkage {str(linkage)!r}; name another folder.",
                    where="linkage",
                )
            if "draw" not in there:
                store.create("draw", system.token_bytes)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path) -> Keys:
        """Read the secrets in a folder. Raises KeyFileError."""
        store = KeyStore(_path(folder, "folder"))
        with _disk_errors(folder, "read"):
            absent = [name for name in ("draw", "linkage") if not _exists(store, name)]
        if absent:
            raise KeyFileError(
                f"folder {str(folder)!r} has no {' and no '.join(absent)} key; create the missing"
                f" key with pm.Keys.create({str(folder)!r}).",
                where="folder",
            )
        with one_sentence("folder"), _disk_errors(folder, "read"):
            return cls(store.load(), str(folder))

    @classmethod
    def for_experiments(cls, seed: int, linkage_seed: int | None = None) -> Keys:
        """Return keys derived from a seed; use them only for public data and repeatable results.

        Args:
            seed: any whole number, for the draw key.
            linkage_seed: any whole number, for a linkage secret that several owners share; by
                default `seed`.

        Raises OptionError.
        """
        linkage_seed = seed if linkage_seed is None else linkage_seed
        for name, given in (("seed", seed), ("linkage_seed", linkage_seed)):
            if isinstance(given, bool) or not isinstance(given, int):
                raise OptionError(f"{name} must be a whole number, not {shown(given)}.", where=name)
        made = (
            hashlib.sha256(f"pramana experiment {name} {number}".encode()).digest()
            for name, number in (("draw", seed), ("linkage", linkage_seed))
        )
        source = f"seed {seed}" + ("" if linkage_seed == seed else f", linkage seed {linkage_seed}")
        return cls(Secrets(*made), f"{source}, for experiments only")

    def export_linkage(self, path: str | Path) -> None:
        """Write the linkage secret to a new private file, to be given to one other owner only.

        The other creates keys with `pm.Keys.create(folder, linkage=path)`. Raises KeyFileError.
        """
        from owner_agent.state.private_files import write_new

        target = _path(path, "path")
        try:
            write_new(target, self._secrets.linkage.hex().encode() + b"\n")
        except FileExistsError:
            raise KeyFileError(
                f"path {str(path)!r} exists and was not changed; name a new file.", where="path"
            ) from None
        except OSError as error:
            raise KeyFileError(
                f"path {str(path)!r} cannot be written ({error.strerror}).", where="path"
            ) from None

    @property
    def secrets(self) -> Secrets:
        """Both secrets, for the owner's other tools; their printed form hides them."""
        return self._secrets

    @property
    def fingerprints(self) -> dict[str, str]:
        """Sixteen hexadecimal digits per secret, which identify the secret without revealing it.

        Owners who will join their records compare their `linkage` fingerprints.
        """
        return {
            "draw": fingerprint("draw", self._secrets.draw),
            "linkage": fingerprint("linkage", self._secrets.linkage),
        }

    def __repr__(self) -> str:
        words = ", ".join(f"{name} {known}" for name, known in self.fingerprints.items())
        return f"Keys({self._where}; {words})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise KeyFileError(
            "Keys cannot be pickled, because a pickle would reveal the secrets; open the keys on"
            " each machine with pm.Keys.open(folder).",
            where="keys",
        )


@contextmanager
def _disk_errors(folder: object, done: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeyFileError(
            f"folder {str(folder)!r} cannot be {done} ({error.strerror}).", where="folder"
        ) from None


def _path(given: object, argument: str) -> Path:
    what = "a folder" if argument == "folder" else "a file"
    good = isinstance(given, str | Path) and bool(Path(given).name) and "\0" not in str(given)
    if not good or (argument == "folder" and Path(str(given)).is_file()):
        raise KeyFileError(
            f"{argument} must be the name of {what}, not {shown(given)}.", where=argument
        )
    return Path(str(given))


def _exists(store: KeyStore, name: str) -> bool:
    return store.path("draw").with_name(f"{name}.key").exists()


def _linkage(path: Path) -> bytes:
    if not path.is_file():
        raise KeyFileError(
            f"linkage must be a file with a linkage secret, but {str(path)!r} is not; an owner who"
            " has the secret can write the file with keys.export_linkage(path).",
            where="linkage",
        )
    with one_sentence("linkage"):
        return read_key(path)

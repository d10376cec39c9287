"""TLS in the service itself: certificates that are read again when their files change."""

from __future__ import annotations

import logging
import ssl
import stat
from pathlib import Path

from miner_service.settings import WebSettings
from pramana_core.errors import KeyFileError, OptionError

log = logging.getLogger(__name__)

_NOT_THE_OWNERS = 0o077
_NOT_THE_GROUPS = 0o037
"""Rights that nobody but the owner has, and that nobody but owner and group has: to read."""

Stamp = tuple[tuple[int, ...], ...]


class Tls:
    """The certificate of the service, and who signs those of its clients.

    Raises:
        OptionError: the files cannot be read, or do not fit together.
        KeyFileError: others may read the private key.
    """

    def __init__(self, web: WebSettings) -> None:
        self._web = web
        self._stamp = self._look()
        self._context = self._read()

    def context(self) -> ssl.SSLContext:
        """Return what the next connection is to be met with.

        Files that changed are read again. If they cannot be, what was read before stays in use.
        """
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            self.reload()
        return self._context

    def reload(self) -> None:
        """Read the files again, whether they seem to have changed or not."""
        try:
            self._context = self._read()
        except (OptionError, KeyFileError) as error:
            log.warning("%s The certificate that was read before stays in use.", error.message)

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in _files(self._web))

    def _read(self) -> ssl.SSLContext:
        web = self._web
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        try:
            _refuse_if_open_to_others(web.private_key or web.certificate or Path())
            # A key behind a passphrase is refused: nobody is there to be asked for it.
            context.load_cert_chain(web.certificate or "", web.private_key, password=lambda: "")
            if web.client_authority is not None:
                context.load_verify_locations(web.client_authority)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
            raise OptionError(
                f"The files of TLS ({', '.join(str(path) for path in _files(web))}) cannot be used:"
                f" {_WORDS.get(str(reason), reason or type(error).__name__)}.",
                where="certificate",
                remedy="Give PEM files that this process may read: a certificate with its chain,"
                " the private key of it without a passphrase, and the authority of the clients.",
            ) from error
        return context


_WORDS = {
    "KEY_VALUES_MISMATCH": "the private key is not that of the certificate",
    "NO_CERTIFICATE_OR_CRL_FOUND": "there is no certificate in the authority's file",
}
"""What OpenSSL calls its commonest refusals, in words."""


def open_tls(web: WebSettings) -> Tls | None:
    """Return the certificates of a service; None if it speaks plain HTTP. Raises OptionError."""
    return Tls(web) if web.certificate is not None else None


def _refuse_if_open_to_others(key: Path) -> None:
    """Check that a private key is its owner's alone, as PostgreSQL does. Raises KeyFileError.

    A key of root's may be read by its group: so systems keep keys that several services use.
    """
    state = key.stat()
    mode = stat.S_IMODE(state.st_mode)
    if mode & (_NOT_THE_GROUPS if state.st_uid == 0 else _NOT_THE_OWNERS):
        raise KeyFileError(
            f"The private key {key} has mode {mode:04o}: people other than its owner may use it.",
            where="private_key",
            remedy=f"Run `chmod 600 {key}`, and ask yourself who may have read it; a key that"
            " belongs to root may have mode 640, and the service's user be of its group.",
        )


def _files(web: WebSettings) -> list[Path]:
    every = (web.certificate, web.private_key, web.client_authority)
    return [path for path in every if path is not None]


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0, 0)
    return (state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)

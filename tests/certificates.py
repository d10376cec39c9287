"""Certificates made for a test, and an authority that signs them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Authority:
    """An authority, and the folder that its files are in."""

    folder: Path
    name: x509.Name
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def make(cls, folder: Path, name: str) -> Authority:
        """Make an authority; its certificate is `path`."""
        folder.mkdir(exist_ok=True)
        subject = _named(name)
        key = ec.generate_private_key(ec.SECP256R1())
        made = cls(folder, subject, key)
        builder = _builder(subject, subject, key).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        made._write(name, builder)
        return made

    @property
    def path(self) -> Path:
        """The file of its certificate."""
        (name,) = self.name.get_attributes_for_oid(NameOID.COMMON_NAME)
        return self.folder / f"{name.value!s}.pem"

    def issue(self, name: str) -> tuple[Path, Path]:
        """Sign a certificate for this machine; return it and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        builder = _builder(_named(name), self.name, key).add_extension(
            x509.SubjectAlternativeName([here]), critical=False
        )
        certificate = self._write(name, builder)
        secret = self.folder / f"{name}.key"
        secret.touch(mode=0o600)
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return certificate, secret

    def _write(self, name: str, builder: x509.CertificateBuilder) -> Path:
        path = self.folder / f"{name}.pem"
        signed = builder.sign(self.key, hashes.SHA256())
        path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
    )

"""The checks of an installation, and their findings.

A check is a function of the examined installation. It returns a sentence, raises a `PramanaError`
for a fault, or raises `NotChecked` if it does not apply. A program lists its checks in one tuple.
"""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal

from pramana_core.errors import ConfigError, KeyFileError, LimitExceeded, PramanaError, StorageFull
from pramana_core.report.numbers import plural
from pramana_core.terminal import console, error_of_system, print_json

WARN_DAYS = 14
"""Days before the end of a token or certificate from which a check reports a fault."""

LEAST_FREE = 256 << 20
"""Free bytes that a disk must have."""

CLOCK_SECONDS = 60
"""The maximum difference, in seconds, between two clocks that agree."""


class NotChecked(Exception):
    """Raised by a check that does not apply to this installation; the text is the reason."""


@dataclass(frozen=True)
class Finding:
    """The result of a check. `exit_code` is 0 unless the check found a fault."""

    check: str
    state: Literal["good", "fault", "skipped"]
    message: str
    code: str | None = None
    where: str | None = None
    remedy: str | None = None
    exit_code: int = 0

    @property
    def line(self) -> str:
        """The finding in one line, with the remedy."""
        remedy = f" What to do: {self.remedy}" if self.remedy else ""
        return f"{self.state:8}{self.check}: {self.message}{remedy}"


def examine(examined: Any, checks: Iterable[Callable[[Any], str]]) -> tuple[Finding, ...]:
    """Return each check's finding, in order. A fault found by several checks is reported once."""
    found: dict[tuple[object, str], Finding] = {}
    for check in checks:
        finding = _finding(check.__name__.strip("_").replace("_", "-"), examined, check)
        key = (finding.code or finding.check, finding.message)
        if finding.state == "fault" and key in found:
            finding = Finding(finding.check, "skipped", f"see {found[key].check}.")
            key = (finding.check, finding.message)
        found[key] = finding
    return tuple(found.values())


def _finding(name: str, examined: Any, check: Callable[[Any], str]) -> Finding:
    try:
        return Finding(name, "good", check(examined))
    except NotChecked as skipped:
        return Finding(name, "skipped", str(skipped))
    except PramanaError as error:
        found = error
    except OSError as error:
        found = error_of_system(error)
    except Exception as error:  # noqa: BLE001 - the other checks still run; its text may quote data
        found = PramanaError(f"The check failed unexpectedly ({type(error).__name__}).")
    return Finding(
        name, "fault", found.message, found.code, found.where, found.remedy, found.exit_code
    )


def show_findings(findings: Sequence[Finding], *, as_json: bool) -> int:
    """Print the findings, and return the largest exit code among them."""
    faults = sum(finding.state == "fault" for finding in findings)
    if as_json:
        print_json({"faults": faults, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            console().print(finding.line, markup=False, soft_wrap=True)
        console().print(f"{len(findings)} checks: {plural(faults, 'fault')}.", markup=False)
    return max((finding.exit_code for finding in findings), default=0)


def check_clock(date: str | None, now: datetime, whose: str) -> str:
    """Compare this machine's clock with a `Date` header. Raises ConfigError, NotChecked."""
    try:
        there = parsedate_to_datetime(date or "")
    except ValueError:
        raise NotChecked(f"{whose} sent no Date header.") from None
    seconds = (now - there).total_seconds()
    if abs(seconds) <= CLOCK_SECONDS:
        return f"This clock and the clock of {whose} agree within {CLOCK_SECONDS} seconds."
    direction = "ahead of" if seconds > 0 else "behind"
    raise ConfigError(
        f"This machine's clock is {abs(seconds):,.0f} seconds {direction} the clock of {whose}.",
        where="clock",
        remedy="Synchronize both machines with a time server (NTP).",
    )


def check_end(
    end: datetime | None, now: datetime, what: str, kind: type[PramanaError], remedy: str
) -> str:
    """Check that something stays valid for over `WARN_DAYS`. Raises an error of class `kind`."""
    if end is None:
        return f"{what} is valid; its end is unknown."
    if end > now + timedelta(days=WARN_DAYS):
        return f"{what} is valid until {end:%Y-%m-%d}."
    verb = "ended" if end <= now else "ends"
    raise kind(f"{what} {verb} on {end:%Y-%m-%d}.", where=what, remedy=remedy)


def check_certificates(files: Mapping[str, Path | None], now: datetime) -> str:
    """Check when certificates in PEM files expire. Raises ConfigError; NotChecked without any."""
    lines = [
        check_certificate(path.read_bytes(), now, f"The {what} {path}")
        for what, path in files.items()
        if path is not None
    ]
    if not lines:
        raise NotChecked("no certificates are configured.")
    return " ".join(lines)


def check_certificate(content: bytes, now: datetime, what: str) -> str:
    """Check when the first certificate in a PEM file expires. Raises ConfigError."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificates(content)
    except ValueError:
        raise ConfigError(f"{what} has no certificates.", remedy="Name a PEM file.") from None
    end = min(one.not_valid_after_utc for one in found)
    return check_end(end, now, what, ConfigError, "Replace the certificate.")


def check_disk(folder: Path, needed: int) -> str:
    """Check the free bytes on the disk of a folder. Raises StorageFull."""
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free < needed:
        raise StorageFull(
            f"{free >> 20:,} MiB are free at {folder}; {needed >> 20:,} MiB are needed.",
            where=str(folder),
            remedy="Free space on that disk, or use a larger disk.",
        )
    return f"{free >> 20:,} MiB are free at {folder}."


def check_limits(open_files: int, file_bytes: int) -> str:
    """Check the limits of this process on open files and file sizes. Raises LimitExceeded."""
    for limit, needed, what, option in (
        (resource.RLIMIT_NOFILE, open_files, "open files", "-n"),
        (resource.RLIMIT_FSIZE, file_bytes, "bytes in a file", "-f"),
    ):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY and soft < needed:
            raise LimitExceeded(
                f"The system allows this user {soft:,} {what}; {needed:,} are needed.",
                where=what,
                remedy=f"Raise the limit (`ulimit {option}`, or in the systemd unit).",
            )
    return "The limits of open files and file sizes suffice."


def check_modes(folder: Path, forbidden: int) -> str:
    """Check that no file or folder has the `forbidden` mode bits. Raises KeyFileError."""
    paths = [folder, *folder.rglob("*")]
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in paths if not path.is_symlink()}
    found = [path for path, mode in modes.items() if mode & forbidden]
    if not found:
        return f"{len(modes)} files and folders have safe modes."
    first = found[0]
    raise KeyFileError(
        f"Other users of this machine can access {plural(len(found), 'path')}, first {first} with"
        f" mode {modes[first]:04o}.",
        where=str(first),
        remedy=f"Run `chmod -R go-{'rwx' if forbidden & 0o044 else 'w'} {folder}`, and consider who"
        " may have used the files.",
    )

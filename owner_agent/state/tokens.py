"""An owner's token for each study, in files that nobody else can read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from owner_agent.state.ledger_file import state_directory
from owner_agent.state.private_files import private_directory, read_secret, write_replacing
from pramana_core.errors import Unauthenticated


@dataclass(frozen=True)
class TokenStore:
    """The token files in a state directory."""

    state: Path

    def path(self, study: str) -> Path:
        """Return the path of the token for a study."""
        return self.state / "tokens" / f"{study}.token"

    def save(self, study: str, token: str, end: datetime | None = None) -> None:
        """Store the token for a study and the time when it expires, replacing an earlier one."""
        state_directory(self.state)
        private_directory(self.path(study).parent)
        (self.state / "tokens" / f"{study}.end").unlink(missing_ok=True)
        write_replacing(self.path(study), token.encode() + b"\n")
        if end is not None:
            write_replacing(self.state / "tokens" / f"{study}.end", end.isoformat().encode())

    def end(self, study: str) -> datetime | None:
        """Return the time when a token expires, or None if it is unknown. Raises KeyFileError."""
        path = self.state / "tokens" / f"{study}.end"
        return datetime.fromisoformat(read_secret(path)) if path.exists() else None

    def load(self, study: str) -> str:
        """Return the token for a study. Raises Unauthenticated or KeyFileError."""
        path = self.path(study)
        if not path.exists():
            raise Unauthenticated(
                f"This site has not joined study {study!r}.",
                where=study,
                remedy="Get an invitation from the study's operator and run `owner-agent join`.",
            )
        return read_secret(path)

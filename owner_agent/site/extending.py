"""Sections added to the end of a site file, which stays as it was written otherwise."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from owner_agent.site.mistakes import toml
from owner_agent.site.site import Site, site_from
from owner_agent.state.private_files import sync_directory, write_durably
from pramana_core.errors import OptionError


@dataclass(frozen=True)
class ExtendedSite:
    """A site file with further sections, which is valid and not written yet."""

    path: Path
    text: str
    site: Site

    @classmethod
    def of(cls, path: Path, sections: Mapping[str, Mapping[str, Any]]) -> ExtendedSite:
        """Add sections that a site file does not have. Raises ConfigError if they do not fit it."""
        before = path.read_text(encoding="utf-8")
        text = f"{before.rstrip()}\n\n{toml(sections)}" if sections else before
        site = site_from(tomllib.loads(text), path.resolve().parent, str(path))
        return cls(path, text, site)

    def write(self) -> None:
        """Put it in the place of the file, with the rights that that had, whole or not at all."""
        mode = self.path.stat().st_mode & 0o777
        target = self.path.resolve()
        new = target.with_name(f".{target.name}.new")
        try:
            new.unlink(missing_ok=True)
            write_durably(new, self.text.encode())
            new.chmod(mode)
            new.replace(target)
        except OSError as error:
            raise OptionError(
                f"{self.path} cannot be written: {error.strerror}.", where="site"
            ) from None
        sync_directory(target.parent)

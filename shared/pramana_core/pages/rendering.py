"""Pages from templates, in which all values are escaped and links are relative."""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources.abc import Traversable
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from pramana_core.pages.words import FILTERS
from pramana_core.pictures.svg import printable

_SHARED = "pramana_core.pages"
_MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


@dataclass(frozen=True)
class Pages:
    """The templates and static files of a package, and those that all packages share."""

    package: str

    def render(self, template: str, *, address: str = "", **shown: Any) -> bytes:
        """Return a page as UTF-8, with links that work behind a proxy."""
        text = self._environment.get_template(template).render(**shown)
        if address:
            # Text from people is escaped, so it contains no quotation mark.
            text = _LINK.sub(rf'\1="{relative("/", address)}', text)
        return printable(text).encode("utf-8", "replace")

    def static(self, name: str) -> tuple[bytes, str] | None:
        """Return a static file of the pages and its media type, or None if it does not exist."""
        media = _MEDIA.get(name.rpartition(".")[2])
        if media is None or name not in self._files:
            return None
        return self._files[name].read_bytes(), media

    @cached_property
    def version(self) -> str:
        """A digest of the static files, by which browsers drop outdated copies."""
        content = b"".join(self._files[name].read_bytes() for name in sorted(self._files))
        return hashlib.sha256(content).hexdigest()[:8]

    @cached_property
    def _files(self) -> dict[str, Traversable]:
        folders = [importlib.resources.files(one) / "static" for one in (_SHARED, self.package)]
        return {one.name: one for folder in folders for one in folder.iterdir()}

    @cached_property
    def _environment(self) -> Environment:
        made = Environment(
            loader=ChoiceLoader([PackageLoader(self.package), PackageLoader(_SHARED)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.globals["version"] = self.version
        made.filters |= FILTERS
        return made


_LINK = re.compile(r'\b(href|src|action|data-follow)="/')


def relative(address: str, at: str) -> str:
    """Return an address of the service, made relative to the page at `at`."""
    return ("../" * (at.count("/") - 1) or "./") + address.removeprefix("/")

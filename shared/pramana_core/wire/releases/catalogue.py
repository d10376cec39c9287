"""All kinds of releases. What differs by kind is asked of `KINDS`, which nothing else names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pramana_core.wire.releases.base import RANDOMIZED_RECORDS, ReleaseKind
from pramana_core.wire.releases.masked import MASKED_RECORDS
from pramana_core.wire.releases.shared_tree import SHARED_TREES

_KINDS: tuple[ReleaseKind[Any, Any], ...] = (RANDOMIZED_RECORDS, MASKED_RECORDS, SHARED_TREES)

KINDS: Mapping[str, ReleaseKind[Any, Any]] = {kind.name: kind for kind in _KINDS}
"""The kinds of releases by their names."""

"""Opens the place that the settings name."""

from __future__ import annotations

from miner_service.settings import Settings
from miner_service.store.files.local import LocalSegments
from miner_service.store.files.objects import ObjectSegments, read_address
from miner_service.store.files.segments import Segments


def open_segments(settings: Settings) -> Segments:
    """Return the place of parts and columns; nothing is asked of it yet. Raises OptionError."""
    storage = settings.storage
    if storage.files is None:
        return LocalSegments(settings.data_dir)
    return ObjectSegments(read_address(storage.files), settings.data_dir, storage.cache_bytes)

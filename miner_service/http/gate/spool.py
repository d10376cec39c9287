"""Bytes that arrive slowly wait on the disk, not in memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from miner_service.http.gate.pools import Pool

BLOCK = 256 * 1024
"""So many bytes of a body are gathered in memory before they are written."""


@dataclass
class Spooled:
    """What was written so far.

    Attributes:
        size: in bytes.
        digest: SHA-256.
    """

    file: BinaryIO | None
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def take(self, block: bytes) -> None:
        """Write a block."""
        if self.file is not None:
            left = memoryview(block)
            while left:  # a disk takes less than all of it before it says that it is full
                left = left[self.file.write(left) :]
        self.digest.update(block)
        self.size += len(block)


async def spool(chunks: AsyncIterator[bytes], file: BinaryIO | None, pool: Pool) -> Spooled:
    """Write chunks to a file, or nowhere, and hash them; one block is written as the next comes."""
    spooled = Spooled(file)
    block = bytearray()
    writing: asyncio.Future[None] | None = None
    try:
        async for chunk in chunks:
            block += chunk
            if len(block) >= BLOCK:
                if writing is not None:
                    await writing
                writing = pool.submit(spooled.take, bytes(block))
                block.clear()
    finally:
        # The file is the caller's again when this ends, however it ends.
        if writing is not None:
            await asyncio.wait([writing])
    if writing is not None:
        await writing
    await pool.run(spooled.take, bytes(block))
    return spooled

"""Bytes that arrive slowly wait on the disk, not in memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from miner_service.http.gate.pools import Pool

BLOCK = 512 * 1024
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

    def take(self, block: list[bytes]) -> None:
        """Write the pieces of a block, as they came."""
        for piece in block:
            if self.file is not None:
                _write(self.file, piece)
            self.digest.update(piece)
            self.size += len(piece)


async def spool(chunks: AsyncIterator[bytes], file: BinaryIO | None, pool: Pool) -> Spooled:
    """Write chunks to a file, or nowhere, and hash them; one block is written as the next comes."""
    spooled = Spooled(file)
    block: list[bytes] = []
    gathered = 0
    writing: asyncio.Future[None] | None = None
    try:
        async for chunk in chunks:
            block.append(chunk)
            gathered += len(chunk)
            if gathered >= BLOCK:
                if writing is not None:
                    await writing
                writing = pool.submit(spooled.take, block)
                block, gathered = [], 0
    finally:
        # The file is the caller's again when this ends, however it ends.
        if writing is not None:
            await asyncio.wait([writing])
    if writing is not None:
        await writing
    if block:
        await pool.run(spooled.take, block)
    return spooled


async def gather(chunks: AsyncIterator[bytes], size: int) -> memoryview:
    """Return all chunks, `size` bytes at most, in one piece.

    It takes no memory before its bytes come, and no more than they, however small the chunks are.
    """
    whole, came = memoryview(bytearray(size)), 0
    async for chunk in chunks:
        whole[came : came + len(chunk)] = chunk
        came += len(chunk)
    return whole[:came]


def _write(file: BinaryIO, piece: bytes) -> None:
    """Write all of a piece, also to a file without a buffer, which may take less at once."""
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]

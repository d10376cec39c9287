"""What the miner is measured against: a server that keeps bodies in files, durably, and no more."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import uvicorn


def store(path: Path, body: bytes) -> None:
    """Write a file, and wait until it and its name are on the disk: as an acknowledged part is."""
    scratch = path.with_suffix(".scratch")
    with scratch.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def application(folder: Path) -> Any:
    """Return an application that stores each body under a name of its own; a GET it answers."""
    number = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal number
        if scope["type"] != "http":
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if scope["method"] != "GET":
            number += 1
            await asyncio.to_thread(store, folder / str(number), bytes(body))
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return app


if __name__ == "__main__":
    config = uvicorn.Config(
        application(Path(sys.argv[1])),
        port=int(sys.argv[2]),
        log_level="warning",
        access_log=False,
        lifespan="off",
        http="h11",
        ws="none",
    )
    uvicorn.Server(config).run()

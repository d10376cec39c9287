"""The reference for the miner's load test: a server that only stores request bodies durably."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import uvicorn


def store(path: Path, body: bytes) -> None:
    """Write a file and wait until it and its name are on disk, as the miner does for a part."""
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
    """Return an application that stores each body under a new name, and answers GET requests."""
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


def main() -> None:
    """Serve on a free port and write the address to the ready file."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--data", type=Path, required=True)
    reader.add_argument("--port", type=int, required=True)
    reader.add_argument("--ready-file", type=Path, required=True)
    given = reader.parse_args()
    app = application(given.data)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", http="h11", ws="none"
    )
    with socket.create_server(("127.0.0.1", given.port)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        scratch = given.ready_file.with_suffix(".scratch")
        scratch.write_text(json.dumps({"url": url, "pid": os.getpid()}))
        scratch.replace(given.ready_file)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()

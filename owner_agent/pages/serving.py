"""The server for the owner's pages, which only this machine can reach."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import uvicorn

from owner_agent.pages.app import create_app
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import OptionError
from pramana_core.terminal import console

_HOST = "127.0.0.1"
_LAST_SECONDS = 5
"""Seconds that a running request may take while the server stops."""


def serve_pages(
    site: Path, environment: Environment, port: int = 8100, ready_file: Path | None = None
) -> None:
    """Serve a site file's pages here until SIGTERM or Ctrl-C. Raises ConfigError, OptionError."""
    with _bind(port) as bound:
        url = f"http://{_HOST}:{bound.getsockname()[1]}"
        app = create_app(site, environment, url)
        config = uvicorn.Config(
            app,
            http="h11",
            log_level="warning",
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        server = uvicorn.Server(config)

        def end(_number: int, _frame: object) -> None:
            server.should_exit = True

        # The server handles both signals itself, and raises them again after it has stopped.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        console(stderr=True).print(
            f"Open this link in your browser; it works once: {app.link}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        if ready_file is not None:
            write_replacing(ready_file, json.dumps({"url": url, "pid": os.getpid()}).encode())
        server.run(sockets=[bound])


def _bind(port: int) -> socket.socket:
    # Declared as TCP, so that asyncio sends small answers immediately (TCP_NODELAY).
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((_HOST, port))
        bound.listen()
    except (OSError, OverflowError) as error:
        bound.close()
        raise OptionError(
            f"The agent cannot listen on {_HOST} port {port}: {str(error).rstrip('.')}.",
            where="port",
            remedy="Choose another port, or 0 for any free port.",
        ) from None
    return bound

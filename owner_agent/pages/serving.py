"""The process that serves the owner's pages, on this machine alone."""

from __future__ import annotations

import json
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from owner_agent.pages.app import create_app
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import write_replacing
from pramana_core.errors import OptionError
from pramana_core.terminal import console
from pramana_core.wire.services import is_loopback

_LAST_SECONDS = 5
"""So long a request that is being answered may take when the server ends."""


@dataclass(frozen=True)
class ListenAddress:
    """Where to listen. Raises OptionError for an address other than loopback."""

    host: str = "127.0.0.1"
    port: int = 8100

    def __post_init__(self) -> None:
        if not is_loopback(self.url(self.port)):
            raise OptionError(
                f"{self.host} is reachable from other machines; the pages are for this one alone.",
                where="host",
                remedy="Use 127.0.0.1.",
            )

    def url(self, port: int) -> str:
        """Return the address of a port."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{port}"

    def bind(self) -> socket.socket:
        """Return a socket that takes connections. Raises OptionError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # Said to be TCP, so that asyncio lets small answers go at once (TCP_NODELAY).
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((self.host, self.port))
            bound.listen()
        except (OSError, OverflowError) as error:
            bound.close()
            raise OptionError(
                f"The agent cannot listen on {self.host} port {self.port}:"
                f" {str(error).rstrip('.')}.",
                where="port",
                remedy="Choose another port; 0 takes a free one.",
            ) from None
        return bound


def serve_pages(
    site: Path, environment: Environment, listen: ListenAddress, ready_file: Path | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C, both of which are the regular end.

    `ready_file` gets the address and the process. Raises ConfigError, OptionError.
    """
    with listen.bind() as bound:
        url = listen.url(bound.getsockname()[1])
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

        # The server takes note of both itself, and raises them again when it has ended.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        console(stderr=True).print(
            f"Open this in your browser; it works once: {app.link}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        if ready_file is not None:
            write_replacing(ready_file, json.dumps({"url": url, "pid": os.getpid()}).encode())
        server.run(sockets=[bound])

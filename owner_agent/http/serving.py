"""Starts the local agent on a socket it binds itself, says when it is ready, and ends at Ctrl-C."""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from owner_agent.http.failures import ToldByKind
from owner_agent.http.service import create_app
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from owner_agent.state.private_files import (
    private_directory,
    refuse_if_open_to_others,
    write_new,
    write_replacing,
)
from pramana_core.errors import OptionError
from pramana_core.terminal import console

_TOKEN_BYTES = 32
_LAST_SECONDS = 5
"""So long a request that is being answered may take when the server ends."""


@dataclass(frozen=True)
class ListenAddress:
    """Where to listen.

    Raises:
        OptionError: an address other than loopback without `allow_remote`.
    """

    host: str = "127.0.0.1"
    port: int = 8100
    allow_remote: bool = False
    ready_file: Path | None = None

    def __post_init__(self) -> None:
        if not self.allow_remote and not is_loopback(self.host):
            raise OptionError(
                f"{self.host} is reachable from other machines, and the agent speaks plain http.",
                where="host",
                remedy="Use 127.0.0.1, or --allow-remote behind something that encrypts.",
            )


def is_loopback(host: str) -> bool:
    """Whether an address is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def agent_token(state: Path) -> str:
    """Return the agent's bearer token, made at its first start.

    Raises:
        KeyFileError: others may read it.
    """
    path = private_directory(state) / "agent.token"
    try:
        write_new(path, secrets.token_urlsafe(_TOKEN_BYTES).encode() + b"\n")
    except FileExistsError:
        refuse_if_open_to_others(path, f"chmod 600 {path}")
    return path.read_text(encoding="ascii").strip()


AddPages = Callable[[FastAPI, str], str]
"""Puts pages beside the agent's JSON at an address, and returns the link that opens them."""


def serve_agent(
    site: Path, environment: Environment, listen: ListenAddress, add_pages: AddPages | None = None
) -> None:
    """Serve until SIGTERM or Ctrl-C, both of which are the regular end.

    Args:
        site: the site file.
        environment: how the miner is reached.
        listen: where to listen.
        add_pages: adds the pages for a browser, on loopback alone.

    Raises:
        ConfigError: the site file is wrong.
        OptionError: the address cannot be listened on.
    """
    state = load_site(site).state
    app = create_app(site, agent_token(state), environment)
    with _bind(listen) as bound:
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        url = f"http://{host}:{bound.getsockname()[1]}"
        link = None
        if add_pages is not None and is_loopback(listen.host):
            link = add_pages(app, url)
        config = uvicorn.Config(
            ToldByKind(app),
            http="h11",
            log_level="warning",
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_LAST_SECONDS,
        )
        server = _Announcing(config, url, state, listen.ready_file, link)
        with _ended_by_signals(server):
            server.run(sockets=[bound])


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """End a server well at SIGINT and SIGTERM, and raise neither again when it has ended."""

    def end(_number: int, _frame: object) -> None:
        server.should_exit = True

    # The server takes note of both itself, and raises them again to whoever had them before.
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Announcing(uvicorn.Server):
    """A server that says once it accepts requests."""

    def __init__(
        self,
        config: uvicorn.Config,
        url: str,
        state: Path,
        ready_file: Path | None,
        link: str | None,
    ):
        super().__init__(config)
        self._link = link
        self._url = url
        self._state = state
        self._ready_file = ready_file

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        console(stderr=True).print(
            f"The agent listens on {self._url}; its token is in {self._state / 'agent.token'}.",
            markup=False,
            soft_wrap=True,
        )
        if self._link is not None:
            console(stderr=True).print(
                f"Open this in your browser; it works once: {self._link}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        if self._ready_file is not None:
            ready = json.dumps({"url": self._url, "pid": os.getpid()})
            write_replacing(self._ready_file, ready.encode())


def _bind(listen: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    # Said to be TCP, so that asyncio lets small answers go at once (TCP_NODELAY).
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listen.host, listen.port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise OptionError(
            f"The agent cannot listen on {listen.host} port {listen.port}:"
            f" {str(error).rstrip('.')}.",
            where="port",
            remedy="Choose another port; 0 takes a free one.",
        ) from None
    return bound

"""The process that listens for requests. Each data directory has at most one such process."""

from __future__ import annotations

import fcntl
import gc
import json
import logging
import os
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from miner_service.http.connection import BoundedConnection
from miner_service.settings import Settings, WebSettings
from miner_service.store.durable import storing
from pramana_core.audit import AUDIT
from pramana_core.errors import Conflict, OptionError
from pramana_core.opening import create_private, require_own_folder

log = logging.getLogger(__name__)

_GRACE_SECONDS = 10
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 8
_OTHER_FILES = 512


@contextmanager
def exclusive(data_dir: Path) -> Iterator[None]:
    """Lock a data directory for this process, and begin a missing audit log.

    Raises Conflict if another process has the lock.
    """
    require_own_folder(data_dir)
    with (data_dir / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Conflict(
                f"Another miner is using the data directory {data_dir}.",
                where="data",
                remedy="Stop that miner, or name another directory with --data.",
            ) from error
        create_private(data_dir / AUDIT)
        yield


def bind(settings: Settings) -> socket.socket:
    """Open the listening socket before the first request. Raises OptionError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol given as TCP, asyncio sets TCP_NODELAY. Otherwise each small response waits
    # some 40 ms for an acknowledgement.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((settings.host, settings.port))
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise OptionError(
            f"Cannot listen on {settings.host} port {settings.port}: {error.strerror or error}.",
            where="port",
            remedy="Choose another port; --port 0 selects a free one.",
        ) from error
    return sock


def url_of(sock: socket.socket, *, over_tls: bool = False) -> str:
    """Return the URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    scheme = "https" if over_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def configured(app: FastAPI, web: WebSettings) -> uvicorn.Config:
    """Return uvicorn's configuration for an application."""
    return uvicorn.Config(
        app,
        http=BoundedConnection,
        ws="none",
        limit_concurrency=web.connections,
        ssl_certfile=web.certificate,
        ssl_keyfile=web.private_key,
        ssl_ca_certs=None if web.client_authority is None else str(web.client_authority),
        ssl_cert_reqs=ssl.CERT_NONE if web.client_authority is None else ssl.CERT_REQUIRED,
        backlog=_ACCEPTED_AT_ONCE,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(web.trusted_proxies),
        forwarded_allow_ips=web.trusted_proxies,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


def serve(
    app: FastAPI, sock: socket.socket, web: WebSettings, *, announce: Callable[[], None]
) -> None:
    """Serve until SIGTERM or SIGINT; call `announce` once requests are accepted."""
    config = configured(app, web)
    config.limit_concurrency = allow_files(web.connections)
    # Computing threads yield to the responding thread sooner than the default 5 ms.
    sys.setswitchinterval(0.0005)
    gc.freeze()  # excludes the loaded modules from slow garbage collections
    # After its end, uvicorn raises the signal that stopped it again. This process should exit with
    # 0 after a requested, clean end.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    _Server(config, announce).run(sockets=[sock])


def allow_files(connections: int) -> int:
    """Raise the limit on open files for `connections`; return how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        if most < wanted:
            # Without files for its own work, the service could not even refuse a connection.
            connections = max((most - _OTHER_FILES) // 2, most // 4)
            fields = {"limit": most, "wanted": wanted, "connections": connections}
            log.warning("the limit on open files allows fewer connections", extra=fields)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    return connections


def write_ready_file(path: Path, url: str) -> None:
    """Write the service's address to a file atomically. Raises StorageFull, NotReady."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with storing("The ready file", scratch):
        scratch.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n", encoding="utf-8")
        scratch.replace(path)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then announce that requests are accepted."""
        await super().startup(sockets=sockets)
        for sock in sockets or ():
            sock.listen(_BACKLOG)  # asyncio has set it to the connections accepted at once
        if self.started:
            self._announce()

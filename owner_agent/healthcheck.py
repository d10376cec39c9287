"""A health check of the agent's pages. Container engines run it often, so it starts fast."""

from __future__ import annotations

from contextlib import closing

from pramana_core.errors import NotReady

PORT = 8100
_SECONDS = 4.0


def require_healthy(port: int = PORT) -> None:
    """Check that the agent on this machine responds at a port. Raises NotReady."""
    from http.client import HTTPConnection, HTTPException

    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=_SECONDS)) as connection:
            connection.request("GET", "/healthz")
            status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        raise NotReady(
            f"The agent does not answer on port {port}: {error}.", where="port"
        ) from None
    if status != 200:
        raise NotReady(f"The agent on port {port} answers with status {status}.", where="port")

"""A health check of a local miner. It starts fast, because container engines run it often."""

from __future__ import annotations

from contextlib import closing

from pramana_core.errors import NotReady

READY = "http://127.0.0.1:8000/readyz"
_SECONDS = 4.0
_REMEDY = "Check that the service runs, and its log, address and proxy."


def require_healthy(url: str = READY) -> str | None:
    """Check that a miner's URL returns status 200; return the Date header. Raises NotReady."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    try:
        address = urlsplit(url)
        host, path = address.netloc, address.path or "/"
        connection: HTTPConnection
        if address.scheme == "https":
            import ssl

            context = ssl.create_default_context()
            # The certificate is for the public address; the request contains no secret.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = HTTPSConnection(host, timeout=_SECONDS, context=context)
        else:
            connection = HTTPConnection(host, timeout=_SECONDS)
        with closing(connection):
            connection.request("GET", path)
            response = connection.getresponse()
            status, date = response.status, response.getheader("Date")
    except (OSError, HTTPException, ValueError) as error:
        raise NotReady(f"{url} does not answer: {error}.", where="url", remedy=_REMEDY) from None
    if status != 200:
        raise NotReady(f"{url} returns status {status}.", where="url", remedy=_REMEDY)
    return date

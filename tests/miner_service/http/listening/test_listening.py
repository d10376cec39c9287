"""A listening miner against clients that hold on to what they were given."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn

from miner_service.http.app import create_app
from miner_service.http.protocol import Connections, Tls, open_tls
from miner_service.http.server import bind, configured, url_of
from miner_service.settings import Settings, WebSettings
from miner_service.store.tokens import rotate_admin_token
from pramana_core.errors import OptionError
from tests.certificates import Authority
from tests.miner_service.crew import crew_of

Listening = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def listening(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """A service of the usual settings, for as many requests as tests send."""
    web = WebSettings(requests_per_address=1e6, requests_per_token=1e6)
    with _serving(Settings(tmp_path_factory.mktemp("listening"), port=0, web=web)) as served:
        yield served


@pytest.fixture
def listen(tmp_path, request) -> Iterator[Listening]:
    """Serve in a thread; return the address and the admin's token.

    Who says nothing of the settings gets the service that the module shares.
    """
    with ExitStack() as stack:

        def start(**web):
            if not web:
                return request.getfixturevalue("listening")
            settings = Settings(tmp_path / "data", port=0, web=WebSettings(**web))
            return stack.enter_context(_serving(settings))

        yield start


@contextmanager
def _serving(settings):
    app, tls = create_app(settings, crew=crew_of()), open_tls(settings.web)
    services = app.state.services
    with services.database.write() as session:
        token = rotate_admin_token(session, services.now()).text
    sock = bind(settings)
    server = uvicorn.Server(configured(app, settings.web, tls))
    ready = threading.Event()
    startup = server.startup

    async def started(sockets=None):
        await startup(sockets=sockets)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    ready.wait()
    try:
        yield url_of(sock, over_tls=tls is not None), token
    finally:
        server.should_exit = True
        thread.join()
        sock.close()


def connect(url):
    host, port = url.rsplit("/", 1)[1].split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def everything(sock):
    """What comes until the other side closes, which it must."""
    told = b""
    with sock, suppress(ConnectionResetError):
        while piece := sock.recv(65536):
            told += piece
    return told


@pytest.mark.slow
def test_half_sent_headers_do_not_stay(listen):
    url, _ = listen(header_seconds=0.3)
    socks = [connect(url) for _ in range(30)]
    for sock in socks:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert [everything(sock) for sock in socks] == [b""] * 30
    idle = connect(url)
    idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    assert everything(idle).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_body_that_does_not_come_is_answered_and_closed(listen):
    url, token = listen(body_seconds=0.2)
    sock = connect(url)
    head = (
        f"POST /v1/studies HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    sock.sendall(head.encode())
    answer = everything(sock)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code":"request-timeout"' in answer
    assert b"connection: close" in answer.lower()


@pytest.mark.slow
def test_a_sender_without_a_token_reads_why_though_it_still_sends(listen):
    """Its answer is not destroyed by what was on its way."""
    url, _ = listen()
    sock = connect(url)
    sock.sendall(b"POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Length: 8400000\r\n\r\n")
    sending = threading.Thread(target=_send_all, args=(sock, bytes(8_400_000)))
    sending.start()
    answer = everything(sock)
    sending.join()
    assert answer.startswith(b"HTTP/1.1 401")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "unauthenticated"


def _send_all(sock, data):
    with suppress(OSError):
        sock.sendall(data)


@pytest.mark.slow
def test_connections_beyond_the_limit_are_turned_away(listen):
    url, _ = listen(connections_per_address=3)
    with httpx.Client() as client:
        assert client.get(f"{url}/healthz").status_code == 200
        held = [connect(url) for _ in range(2)]
        refused = everything(connect(url))
        assert refused.startswith(b"HTTP/1.1 503")
        assert b'"code":"not-ready"' in refused
        assert client.get(f"{url}/healthz").status_code == 200
        for sock in held:
            sock.close()
        while (answer := _status(url)) != 200:
            assert answer == 503


def _status(url):
    return httpx.get(f"{url}/healthz").status_code


def test_connections_are_counted_by_address_and_in_all():
    counted = Connections(WebSettings(connections=3, connections_per_address=2))
    assert [counted.enter("a") for _ in range(3)] == [True, True, False]
    assert [counted.enter("b") for _ in range(2)] == [True, False]
    counted.leave("a")
    assert counted.enter("b")
    for host in ("a", "b", "b"):
        counted.leave(host)
    assert counted._open == {}


def test_the_addresses_of_one_network_are_counted_as_one():
    counted = Connections(WebSettings(connections_per_address=2))
    hosts = [f"2001:db8:0:1::{number}" for number in range(3)]
    assert [counted.enter(host) for host in hosts] == [True, True, False]
    assert counted.enter("2001:db8:0:2::1")
    for host in (*hosts[:2], "2001:db8:0:2::1"):
        counted.leave(host)
    assert counted._open == {}


def test_what_a_sender_says_of_its_address_is_not_believed(listen):
    url, _ = listen(requests_per_address=0.1)
    with httpx.Client() as client:
        said = [{"X-Forwarded-For": f"192.0.2.{n}", "X-Forwarded-Proto": "https"} for n in (1, 2)]
        answers = [client.get(f"{url}/healthz", headers=headers) for headers in said]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert "strict-transport-security" not in answers[0].headers


def test_what_is_no_http_is_a_problem(listen):
    url, _ = listen()
    sock = connect(url)
    sock.sendall(b"\x16\x03\x01 hello\r\n\r\n")
    answer = everything(sock)
    assert answer.startswith(b"HTTP/1.1 422")
    assert b"nosniff" in answer


@pytest.fixture
def authority(tmp_path):
    return Authority.make(tmp_path, "authority")


def asked(url, authority, **options):
    """Ask over a new connection, with or without a certificate of the client."""
    context = ssl.create_default_context(cafile=str(authority.folder / "authority.pem"))
    if client := options.get("client"):
        context.load_cert_chain(*client)
    with httpx.Client(verify=context) as http:
        return http.get(f"{url}/healthz")


@pytest.mark.slow
def test_it_speaks_tls_and_reads_its_certificate_again(listen, authority, tmp_path):
    certificate, key = authority.issue("first")
    url, _ = listen(certificate=certificate, private_key=key)
    assert url.startswith("https://")
    answer = asked(url, authority)
    assert answer.status_code == 200
    assert "strict-transport-security" in answer.headers
    assert _subject(url, authority) == "first"
    certificate.write_text("not a certificate")
    assert _subject(url, authority) == "first"
    for new, old in zip(authority.issue("second"), (certificate, key), strict=True):
        shutil.copyfile(new, old)
    assert _subject(url, authority) == "second"
    plain = connect(url)
    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    assert b"200" not in everything(plain)
    tls = Tls(WebSettings(certificate=certificate, private_key=key))
    assert tls.context().minimum_version == ssl.TLSVersion.TLSv1_2


def _subject(url, authority):
    context = ssl.create_default_context(cafile=str(authority.folder / "authority.pem"))
    with context.wrap_socket(connect(url), server_hostname="127.0.0.1") as sock:
        return dict(pair[0] for pair in sock.getpeercert()["subject"])["commonName"]


@pytest.mark.slow
def test_only_clients_with_a_certificate_are_let_in(listen, authority, tmp_path):
    certificate, key = authority.issue("miner")
    agents = Authority.make(tmp_path, "agents")
    url, _ = listen(
        certificate=certificate, private_key=key, client_authority=tmp_path / "agents.pem"
    )
    assert asked(url, authority, client=agents.issue("north")).status_code == 200
    for client in (None, authority.issue("stranger")):
        with pytest.raises(httpx.TransportError):
            asked(url, authority, client=client)


def test_certificates_that_cannot_be_used_are_refused(authority, tmp_path):
    certificate, key = authority.issue("one")
    _, other = authority.issue("two")
    missing = tmp_path / "missing.pem"
    certificate.chmod(0o600)  # as a key must be, for the pair in which it stands for one
    for pair in ((certificate, other), (missing, key), (key, certificate)):
        with pytest.raises(OptionError, match="cannot be used") as caught:
            Tls(WebSettings(certificate=pair[0], private_key=pair[1]))
        assert "PRIVATE" not in str(caught.value)
    with pytest.raises(OptionError, match="one of them"):
        WebSettings(certificate=certificate)
    with pytest.raises(OptionError, match="only asked for over TLS"):
        WebSettings(client_authority=certificate)
    web = WebSettings(certificate=certificate, private_key=key)
    assert Settings(tmp_path, host="0.0.0.0", web=web).host == "0.0.0.0"


@pytest.mark.end_to_end
def test_no_secret_is_in_what_the_service_prints(serve, authority, tmp_path):
    """Nor does SIGHUP end it."""
    certificate, key = authority.issue("miner")
    url, process, log = serve(
        *("--certificate", str(certificate), "--private-key", str(key)),
        *("--admin-token-file", str(tmp_path / "admin"), "--workers", "0"),
    )
    token = (tmp_path / "admin").read_text().strip()
    context = ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))
    with httpx.Client(verify=context, headers={"Authorization": f"Bearer {token}"}) as http:
        assert http.post(f"{url}/v1/studies", json={"name": "asia"}).status_code == 201
        assert http.get(f"{url}/v1/studies?token={token}").status_code == 422
        process.send_signal(signal.SIGHUP)
        assert http.get(f"{url}/v1/studies/{token}").status_code == 404
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    secret = token.split(".")[1]
    assert secret not in log.read_text()
    assert secret not in (tmp_path / "data" / "audit.jsonl").read_text()

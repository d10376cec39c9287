"""A listening miner against clients that hold on to what they were given."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpx
import pytest
import uvicorn

from miner_service.healthcheck import require_healthy
from miner_service.http import connection
from miner_service.http.app import create_app
from miner_service.http.server import bind, configured, exclusive, url_of
from miner_service.settings import Settings, WebSettings
from miner_service.store.tokens import rotate_admin_token
from pramana_core.errors import NotReady, OptionError
from pramana_core.opening import require_tls_files
from tests.certificates import Authority
from tests.miner_service.crew import crew_of

Listening = Callable[..., tuple[str, str]]


@pytest.fixture(scope="module")
def listening(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """A service of the usual settings, for as many requests as tests send."""
    web = WebSettings(requests_per_token=1e6)
    with _serving(Settings(tmp_path_factory.mktemp("listening"), port=0, web=web)) as served:
        yield served[:2]


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
    with exclusive(settings.data_dir):
        app = create_app(settings, crew=crew_of())
    services = app.state.services
    with services.database.write() as session:
        token = rotate_admin_token(session, services.now()).text
    sock = bind(settings)
    config = configured(app, settings.web)
    server = uvicorn.Server(config)
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
        yield url_of(sock, over_tls=settings.web.certificate is not None), token, config
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
def test_a_sender_without_a_token_reads_why_though_it_still_sends(listen):
    """Its answer is not destroyed by what was on its way."""
    url, _ = listen()
    sock = connect(url)
    sock.sendall(b"POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Length: 8400000\r\n\r\n")
    sending = threading.Thread(target=_send_all, args=(sock, bytes(8_400_000)))
    sending.start()
    sending.join()
    # The connection goes on: what was still sent of the body is no request.
    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    answers = everything(sock)
    assert answers.startswith(b"HTTP/1.1 401")
    assert (b'"code":"unauthenticated"' in answers, answers.count(b"HTTP/1.1")) == (True, 2)


def _send_all(sock, data):
    with suppress(OSError):
        sock.sendall(data)


@pytest.fixture
def authority(tmp_path):
    return Authority.make(tmp_path, "authority")


def asked(url, authority, **options):
    """Ask over a new connection, with or without a certificate of the client."""
    context = ssl.create_default_context(cafile=str(authority.path))
    if client := options.get("client"):
        context.load_cert_chain(*client)
    with httpx.Client(verify=context) as http:
        return http.get(f"{url}/healthz")


@pytest.mark.slow
def test_it_speaks_tls(listen, authority):
    certificate, key = authority.issue("first")
    url, _, config = listen(certificate=certificate, private_key=key)
    assert url.startswith("https://")
    answer = asked(url, authority)
    assert answer.status_code == 200
    assert "strict-transport-security" in answer.headers
    plain = connect(url)
    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    assert b"200" not in everything(plain)
    assert config.ssl.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(("trusted", "secure"), [(["127.0.0.0/8"], True), (["10.0.0.7"], False)])
def test_cookies_are_secure_where_a_trusted_proxy_speaks_tls(listen, trusted, secure):
    url, *_ = listen(trusted_proxies=trusted)
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
    answer = httpx.get(f"{url}/pages/sign-in", headers=headers)
    assert ("; Secure" in answer.headers["set-cookie"]) is secure
    assert ("strict-transport-security" in answer.headers) is secure


@pytest.mark.slow
def test_a_health_check_asks_what_listens(listen, authority):
    url, *_ = listen()
    require_healthy(f"{url}/healthz")
    with pytest.raises(NotReady):
        require_healthy(f"{url}/absent")
    certificate, key = authority.issue("checked")
    url, *_ = listen(certificate=certificate, private_key=key)
    require_healthy(f"{url}/readyz")
    with pytest.raises(NotReady):
        require_healthy(url.replace("https", "http"))


def test_a_health_check_of_a_wrong_address_finds_the_miner_not_ready():
    for wrong in ("http://127.0.0.1:1/", "http://127.0.0.1:x/", "http://[::1/", "http://", ""):
        with pytest.raises(NotReady):
            require_healthy(wrong)


@pytest.mark.slow
def test_only_clients_with_a_certificate_are_let_in(listen, authority, tmp_path):
    certificate, key = authority.issue("miner")
    agents = Authority.make(tmp_path, "agents")
    url, *_ = listen(
        certificate=certificate, private_key=key, client_authority=tmp_path / "agents.pem"
    )
    assert asked(url, authority, client=agents.issue("north")).status_code == 200
    for client in (None, authority.issue("stranger")):
        with pytest.raises(httpx.TransportError):
            asked(url, authority, client=client)


@pytest.mark.slow
def test_new_certificates_are_used_from_the_next_start(authority, tmp_path):
    """A file of two authorities lets clients of both in while they change."""
    new = Authority.make(tmp_path / "new", "renewed")
    places = {name: tmp_path / name for name in ("miner.pem", "miner.key", "agents.pem")}
    web = dict(
        zip(("certificate", "private_key", "client_authority"), places.values(), strict=True)
    )
    settings = Settings(tmp_path / "data", port=0, web=WebSettings(**web))
    clients = {one: one.issue("north") for one in (authority, new)}

    def write(miners, *agents):
        for place, source in zip(places.values(), miners.issue("miner"), strict=False):
            place.touch(mode=0o600)
            place.write_bytes(source.read_bytes())
        places["agents.pem"].write_bytes(b"".join(one.path.read_bytes() for one in agents))

    def let_in(url, miners, client):
        try:
            return asked(url, miners, client=clients[client]).status_code == 200
        except httpx.TransportError:
            return False

    write(authority, authority)
    with _serving(settings) as (url, *_):
        write(authority, authority, new)
        assert let_in(url, authority, authority)
        assert not let_in(url, authority, new)
    with _serving(settings) as (url, *_):
        assert [let_in(url, authority, client) for client in clients] == [True, True]
    write(new, new)
    with _serving(settings) as (url, *_):
        assert [let_in(url, new, client) for client in clients] == [False, True]
        assert not let_in(url, authority, new)


def test_certificates_that_cannot_be_used_are_refused(authority, tmp_path):
    certificate, key = authority.issue("one")
    _, other = authority.issue("two")
    missing = tmp_path / "missing.pem"
    certificate.chmod(0o600)  # as a key must be, for the pair in which it stands for one
    for pair in ((certificate, other), (missing, key), (key, certificate)):
        with pytest.raises(OptionError) as caught:
            require_tls_files(*pair, None)
        assert "PRIVATE" not in str(caught.value)
    with pytest.raises(OptionError):
        WebSettings(certificate=certificate)
    with pytest.raises(OptionError):
        WebSettings(client_authority=certificate)
    web = WebSettings(certificate=certificate, private_key=key)
    assert Settings(tmp_path, host="0.0.0.0", web=web).host == "0.0.0.0"


@pytest.mark.end_to_end
def test_no_secret_is_in_what_the_service_prints(serve, authority, tmp_path):
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
        assert http.get(f"{url}/v1/studies/{token}").status_code == 404
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    secret = token.split(".")[1]
    assert secret not in log.read_text()
    assert secret not in (tmp_path / "data" / "audit.jsonl").read_text()


@pytest.mark.parametrize(
    "begins",
    [
        b"GET /healthz HTTP/1.1\r\n",  # many headers
        b"GET /healthz HTTP/1.1\r\nX: ",  # one that does not end
        b"POST /v1/studies HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",  # trailers
    ],
)
def test_headers_without_end_close_their_connection(listen, begins):
    """By anybody: no token is asked for before headers are whole. 64 KiB may come, and a read."""
    url, _ = listen()
    line = b"X: " + b"x" * 1000 + (b"\r\n" if begins.endswith(b"\r\n") else b"")
    with connect(url) as sock:
        sock.sendall(begins)
        sent = 0
        with suppress(OSError):
            while sent < 64_000_000:
                sock.sendall(line)
                sent += len(line)
        assert sent < 64_000_000
    # Who is well-behaved is answered.
    assert httpx.get(f"{url}/healthz").status_code == 200


def test_slow_headers_close_their_connection(listen, monkeypatch):
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.2)
    url, _ = listen()
    for begins in (b"", b"GET /healthz HTTP/1.1\r\n"):
        with connect(url) as sock:
            sock.sendall(begins)
            with suppress(ConnectionResetError):
                assert sock.recv(1) == b""


def test_no_more_connections_are_kept_than_there_may_be(listen):
    url, _, _ = listen(connections=5)
    with ExitStack() as stack:
        held = [stack.enter_context(connect(url)) for _ in range(5)]
        for _ in range(10):
            with connect(url) as further, suppress(ConnectionResetError):
                assert further.recv(1) == b""
        assert len(held) == 5

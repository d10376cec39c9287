"""Senders that reset, say a length twice, or never end: each costs little and alarms nobody."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import struct
import threading
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from uvicorn.server import ServerState

from miner_service.http import protocol
from miner_service.http.access.gate import UNANNOUNCED_BODY, Gate
from miner_service.http.protocol import Tls, bounded_protocol
from miner_service.http.server import configured
from miner_service.settings import WebSettings
from pramana_core.errors import KeyFileError
from tests.certificates import Authority
from tests.miner_service.http.listening.test_listening import connect, everything, listen, listening

__all__ = ["listen", "listening"]


def test_a_sender_that_resets_its_connection_is_no_error_of_the_service(
    listen, monkeypatch, capfd, caplog
):
    """It is gone before it is answered; its body was so long that nobody looked."""
    url, _ = listen()
    is_reset, entered, answered = threading.Event(), threading.Event(), threading.Event()
    enter, call = Gate._enter, Gate.__call__

    async def enter_late(self, scope, body, send):
        if scope["method"] == "POST":
            entered.set()
            while not is_reset.is_set():
                await asyncio.sleep(0.005)
        await enter(self, scope, body, send)

    async def call_and_tell(self, scope, receive, send):
        try:
            await call(self, scope, receive, send)
        finally:
            if scope.get("method") == "POST":
                answered.set()

    monkeypatch.setattr(Gate, "_enter", enter_late)
    monkeypatch.setattr(Gate, "__call__", call_and_tell)
    sock = connect(url)
    head = "POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
    sock.sendall(head.encode() + bytes(200_000))
    entered.wait()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    is_reset.set()
    answered.wait()
    assert httpx.get(f"{url}/healthz").status_code == 200
    told = caplog.text + capfd.readouterr().err
    assert "Traceback" not in told
    assert "internal" not in told


def test_what_still_comes_after_a_refusal_is_not_looked_at():
    """What the loop had read before the connection was closed may come after it."""
    sent = []

    class Transport(asyncio.Transport):
        def write(self, data):
            sent.append(data)

        def close(self):
            sent.append(None)

        def is_closing(self):
            return None in sent

    async def send_twice():
        made = bounded_protocol(WebSettings(), None)(
            config=configured(FastAPI(), WebSettings(), None),
            server_state=ServerState(),
            app_state={},
        )
        made.connection_made(Transport())
        made.data_received(b"no request\r\n\r\n")
        made.data_received(b"nor this\r\n\r\n")
        made.connection_lost(None)

    asyncio.run(send_twice())
    answer, *ends = sent
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert set(ends) == {None}


def test_the_head_of_an_answer_leaves_with_its_body_and_nothing_is_held_for_long():
    sent = []

    class Transport(asyncio.Transport):
        def write(self, data):
            sent.append(data)

        def close(self):
            sent.append("end")

        def is_closing(self):
            return False

    async def write():
        loop = asyncio.get_running_loop()
        patient = protocol._Patient(Transport(), SimpleNamespace(loop=loop, linger=lambda _: False))
        patient.write(b"head ")
        patient.write(b"body")
        patient.write(b"alone")
        await asyncio.sleep(0)
        patient.write(b"head")
        large = bytes(1 << 20)
        patient.write(large)
        patient.write(b"last")
        patient.close()
        assert sent == [b"head body", b"alone", b"head", large, b"last", "end"]

    asyncio.run(write())


def test_a_body_whose_length_is_said_twice_is_refused_and_what_follows_is_no_request(listen):
    url, token = listen()
    for first, second in (
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("transfer-encoding: chunked", "content-length: 0"),
    ):
        sock = connect(url)
        smuggled = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        sock.sendall(
            f"POST /v1/studies HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
            f"{first}\r\n{second}\r\n\r\n0\r\n\r\n{smuggled}".encode()
        )
        sock.shutdown(socket.SHUT_WR)
        answer = everything(sock)
        assert answer.startswith(b"HTTP/1.1 400")
        assert b'"code":"request-ambiguous"' in answer
        assert b"connection: close" in answer.lower()
        assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "request_",
    [
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
        "GET /healthz HTTP/1.1\nHost: a\n\n",
        "GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
        "POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n",
        "POST /v1/studies HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST /v1/studies HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST /v1/studies HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + "x" * protocol._HEAD_BYTES + "\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + "x" * 2 * protocol._HEAD_BYTES,
    ],
)
def test_what_two_readers_could_take_differently_is_refused(listen, request_):
    url, _ = listen()
    sock = connect(url)
    sock.sendall(request_.encode())
    # What was still being sent when it was refused may destroy the answer.
    lost = [[]] if len(request_) > protocol._HEAD_BYTES else []
    assert answers(everything(sock)) in [[b"422"], *lost]


def answers(told):
    """The status of each."""
    return re.findall(rb"HTTP/1\.1 ([0-9]{3}) ", told)


def test_requests_sent_at_once_are_answered_in_turn_and_too_many_are_cut_off(listen):
    url, _ = listen()
    one = "GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n"
    sock = connect(url)
    last = one.format("/healthz", "Connection: close\r\n")
    sock.sendall((one.format("/x", "") * 3 + last).encode())
    assert answers(everything(sock)) == [b"404"] * 3 + [b"200"]
    sock = connect(url)
    sock.sendall((one.format("/healthz", "") * 1000).encode())
    assert len(answers(everything(sock))) < 1000


def test_what_follows_a_request_and_is_none_takes_no_answer_away(listen):
    url, _ = listen()
    for after in ("nonsense\r\n\r\n", "Host: b\r\n\r\n"):
        sock = connect(url)
        sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n{after}".encode())
        assert everything(sock).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("protocol_", ["websocket", "h2c"])
def test_who_asks_for_another_protocol_is_answered_in_this_one(listen, protocol_):
    url, _ = listen()
    sock = connect(url)
    upgrade = f"Connection: Upgrade\r\nUpgrade: {protocol_}\r\n"
    sock.sendall(f"GET /healthz HTTP/1.1\r\nHost: a\r\n{upgrade}\r\nGET /v1".encode())
    assert answers(everything(sock)) == [b"200"]


def test_who_waits_to_be_told_to_go_on_is_told_only_where_its_body_is_wanted(listen):
    url, token = listen()
    body = b'{"name": "wait"}'
    for secret, told in ((token, b"100"), ("t-1.guessed", b"401")):
        sock = connect(url)
        sock.sendall(
            f"POST /v1/studies HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n"
            "Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
        )
        first = sock.recv(65536)
        assert first.split()[1] == told
        if told == b"100":
            sock.sendall(body)
            assert b"HTTP/1.1 201" in first + everything(sock)
        sock.close()


def test_what_comes_after_a_body_is_no_header_and_has_an_end(listen):
    url, token = listen()
    head = (
        "POST /v1/studies HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{}"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    body = "10\r\n" + '{"name": "late"}' + "\r\n0\r\n"
    late = f"Authorization: Bearer {token}\r\n"
    for early, status in (("", b"401"), (late, b"201")):
        sock = connect(url)
        sock.sendall((head.format(early) + body + late + "\r\n").encode())
        assert sock.recv(65536).split()[1] == status
        sock.close()
    sock = connect(url)
    sock.sendall((head.format(late) + body + "X: ").encode())
    with pytest.raises(ConnectionError):
        _send_for_ever(sock, b"x" * 4096)
    sock.close()


@pytest.mark.parametrize("known", [True, False])
def test_a_body_without_an_end_is_cut_off(listen, monkeypatch, known):
    url, token = listen()
    dropped, drop = [], protocol._Lingering.dropped
    monkeypatch.setattr(
        protocol._Lingering,
        "dropped",
        lambda self, size: (dropped.append(size), drop(self, size)),
    )
    secret = token if known else "t-1.guessed"
    sock = connect(url)
    sock.sendall(
        f"POST /v1/studies HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    answers = []
    listening = threading.Thread(target=lambda: answers.append(_answer(sock)))
    listening.start()
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    with pytest.raises((ConnectionError, TimeoutError)) as ended:
        _send_for_ever(sock, chunk)
    assert isinstance(ended.value, ConnectionError)
    listening.join()
    sock.close()
    assert answers[0].startswith(b"HTTP/1.1 413" if known else b"HTTP/1.1 401")
    one_read = 1 << 18
    assert sum(dropped) <= protocol._ENDLESS_BYTES + one_read


def _send_for_ever(sock, chunk):
    while True:
        sock.sendall(chunk)


def _answer(sock):
    try:
        return sock.recv(65536)
    except OSError:
        return b""


def test_a_chunked_body_of_a_usual_size_is_taken(listen):
    url, token = listen()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def chunks(size):
        yield b'{"name": "asia"' + b" " * size + b"}"

    answers = [
        httpx.post(f"{url}/v1/studies", headers=headers, content=chunks(size))
        for size in (UNANNOUNCED_BODY - 16, UNANNOUNCED_BODY)
    ]
    assert [answer.status_code for answer in answers] == [201, 413]
    # Who says how long it is may send more.
    body = b"".join(chunks(UNANNOUNCED_BODY))
    assert httpx.post(f"{url}/v1/studies", headers=headers, content=body).status_code == 200


@pytest.mark.parametrize(
    ("of_root", "mode", "refused"),
    [
        (False, 0o600, False),
        (False, 0o400, False),
        (False, 0o640, True),
        (False, 0o604, True),
        (True, 0o640, False),
        (True, 0o600, False),
        (True, 0o660, True),
        (True, 0o644, True),
    ],
)
def test_a_private_key_is_its_owners_or_roots_and_its_groups(
    tmp_path, monkeypatch, of_root, mode, refused, caplog
):
    """Debian keeps keys as root:ssl-cert 640, which is no mistake."""
    certificate, key = Authority.make(tmp_path, "authority").issue("miner")
    web = WebSettings(certificate=certificate, private_key=key)
    tls = Tls(web)
    key.chmod(mode)
    if os.geteuid() == 0:
        os.chown(key, 0 if of_root else 12345, 0)
    elif of_root:
        pytest.skip("only root makes files of root's")
    if not refused:
        Tls(web)
        return
    with pytest.raises(KeyFileError, match=f"has mode 0{mode:o}") as told:
        Tls(web)
    assert str(key) in told.value.remedy
    # While the service runs, what was read before stays in use, and it says so.
    before = tls._context
    assert tls.context() is before
    assert "people other than its owner" in caplog.text

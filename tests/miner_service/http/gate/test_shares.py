"""How much one sender may ask for, by a clock that the test holds."""

from __future__ import annotations

import pytest

from miner_service.http.access.shares import BodyMemory, Buckets, InFlight, Rates, network_of
from miner_service.settings import WebSettings
from pramana_core.errors import TooManyRequests


class Now:
    """A clock that stands still unless it is put forward."""

    def __init__(self):
        self.seconds = 100.0

    def __call__(self):
        return self.seconds


def test_a_bucket_takes_a_burst_and_then_its_rate():
    now = Now()
    buckets = Buckets(2.0, now)
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0.0
    now.seconds += 0.5
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0
    now.seconds += 1000
    assert [buckets.take("a") for _ in range(20)] == [0.0] * 20
    assert buckets.take("a") > 0


def test_senders_that_were_silent_are_forgotten():
    now = Now()
    buckets = Buckets(1.0, now)
    for number in range(4096):
        buckets.take(str(number))
    now.seconds += 10
    buckets.take("one more")
    assert list(buckets._spent) == ["one more"]


def test_a_rate_says_who_and_for_how_long():
    rates = Rates(WebSettings(requests_per_token=0.5, requests_per_address=1.0), Now())
    for _ in range(5):
        rates.take_token("t-1")
    with pytest.raises(TooManyRequests, match=r"0\.5 requests a second") as caught:
        rates.take_token("t-1")
    assert caught.value.where == "token"
    assert caught.value.retry_seconds == 2
    rates.take_token("t-2")
    for _ in range(10):
        rates.take_address("192.0.2.1")
    with pytest.raises(TooManyRequests, match="address"):
        rates.take_address("192.0.2.1")


def test_an_address_of_ipv6_is_counted_by_its_network():
    assert network_of("2001:db8:1:2:3::4") == network_of("2001:db8:1:2::9")
    assert network_of("2001:db8:1:2::9") != network_of("2001:db8:1:3::9")
    assert network_of("192.0.2.1") == "192.0.2.1"
    assert network_of("::ffff:192.0.2.1") == "192.0.2.1"
    assert network_of("testclient") == "testclient"


def test_bodies_on_their_way_are_counted_by_token():
    shares = InFlight(2, 100)
    with shares.held("a", 60):
        with pytest.raises(TooManyRequests, match="60 bytes"), shares.held("a", 41):
            raise AssertionError("it has no room")
        with shares.held("a", 40):
            with pytest.raises(TooManyRequests, match="2 bodies"), shares.held("a", 0):
                raise AssertionError("it has no room")
            with shares.held("b", 1000):
                assert set(shares._held) == {"a", "b"}
        with shares.held("a", 40):
            pass
    assert shares._held == {}


def test_memory_is_given_while_there_is_some_and_given_back():
    memory = BodyMemory(10)
    with memory.held(6) as first, memory.held(5) as second, memory.held(4) as third:
        assert (first, second, third) == (True, False, True)
    with pytest.raises(ZeroDivisionError), memory.held(10):
        1 / 0  # noqa: B018
    with memory.held(10) as whole:
        assert whole

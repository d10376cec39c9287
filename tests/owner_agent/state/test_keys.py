"""Secrets are made on purpose, never replaced, and never used when they are weak or readable."""

import pytest

from owner_agent.state.keys import EXAMPLE_KEY, KeyStore, Secrets, fingerprint, read_key
from pramana_core.errors import KeyFileError, OptionError

GOOD = bytes(range(7, 39))
ELSE = bytes(range(8, 40))


@pytest.fixture
def store(tmp_path):
    return KeyStore(tmp_path / "state")


def _file(tmp_path, text, mode=0o600):
    path = tmp_path / "some.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_secrets_are_kept_private(store):
    store.add("draw", GOOD)
    store.add("linkage", ELSE)
    assert store.load() == Secrets(GOOD, ELSE)
    assert store.path("draw").stat().st_mode & 0o777 == 0o600
    assert store.path("draw").parent.stat().st_mode & 0o777 == 0o700
    assert store.state.stat().st_mode & 0o777 == 0o700
    assert sorted(p.name for p in store.path("draw").parent.iterdir()) == [
        "draw.key", "linkage.key",
    ]  # fmt: skip


def test_a_secret_is_never_replaced(store):
    store.add("draw", GOOD)
    with pytest.raises(KeyFileError):
        store.create("draw", lambda n: ELSE)
    assert read_key(store.path("draw")) == GOOD


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_a_secret_that_others_can_read_is_refused(store, mode):
    store.add("draw", GOOD)
    store.add("linkage", ELSE)
    store.path("draw").chmod(mode)
    with pytest.raises(KeyFileError) as raised:
        store.load()
    assert GOOD.hex() not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ab" * 31,
        "not a key",
        "00" * 32,
        "7f" * 32,
        EXAMPLE_KEY.hex(),
    ],
)
def test_a_weak_or_broken_secret_is_refused(tmp_path, text):
    with pytest.raises(KeyFileError):
        read_key(_file(tmp_path, text))


def test_the_draw_key_must_not_be_the_shared_secret():
    with pytest.raises(KeyFileError):
        Secrets(GOOD, GOOD)


def test_nothing_printed_holds_a_secret(store):
    store.add("draw", GOOD)
    store.add("linkage", ELSE)
    prints = store.fingerprints()
    assert prints == {"draw": fingerprint("draw", GOOD), "linkage": fingerprint("linkage", ELSE)}
    assert fingerprint("draw", GOOD) != fingerprint("linkage", GOOD)
    shown = repr(store.load()) + repr(prints)
    assert GOOD.hex() not in shown
    assert repr(GOOD) not in shown


def test_the_linkage_secret_is_exported_once(store, tmp_path):
    target = tmp_path / "for-the-bank.key"
    with pytest.raises(KeyFileError):
        store.export_linkage(target)
    store.add("linkage", ELSE)
    store.export_linkage(target)
    assert read_key(target) == ELSE
    store.export_linkage(target)
    target.write_text("mine")
    with pytest.raises(OptionError):
        store.export_linkage(target)
    assert target.read_text() == "mine"


def test_keys_that_others_may_reach_are_not_read(store):
    store.add("draw", ELSE)
    path = store.path("draw")
    for place, usual in ((path, 0o600), (path.parent, 0o700)):
        place.chmod(usual | 0o040)
        with pytest.raises(KeyFileError) as refused:
            store.load_draw()
        assert refused.value.where == str(place)
        place.chmod(usual)
    assert store.load_draw() == ELSE

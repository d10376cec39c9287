"""Keys of requests are kept until the answer is there, and no request is sent without room."""

import pytest

from owner_agent.state.keys import RetryKey
from owner_agent.state.private_files import state_directory
from pramana_core.errors import KeyFileError, StorageFull
from tests.full_disk import files_no_longer_than


def drawn(byte: int):
    return lambda size: bytes([byte]) * size


def test_a_key_is_the_same_until_it_is_forgotten(tmp_path):
    state = tmp_path / "state"
    key = RetryKey(state, "a secret")
    assert key.kept(drawn(1)) == RetryKey(state, "a secret").kept(drawn(2)) == "01" * 32
    assert RetryKey(state, "another").kept(drawn(3)) == "03" * 32
    assert "secret" not in "".join(map(str, state.rglob("*")))
    key.forget()
    assert key.kept(drawn(4)) == "04" * 32


def test_a_key_without_room_is_not_given_out(tmp_path):
    key = RetryKey(tmp_path / "state", "a secret")
    state_directory(tmp_path / "state")
    with files_no_longer_than(10), pytest.raises(StorageFull):
        key.kept(drawn(1))
    assert list(key.path.parent.iterdir()) == []
    assert key.kept(drawn(2)) == "02" * 32


def test_a_key_that_others_may_read_is_refused(tmp_path):
    key = RetryKey(tmp_path / "state", "a secret")
    key.kept(drawn(1))
    key.path.chmod(0o644)
    with pytest.raises(KeyFileError):
        key.kept(drawn(1))

"""An owner's keys: made once, found again, shared in part, and shown to nobody."""

from __future__ import annotations

import copy
import pickle

import pytest

from owner_agent.state.keys import KeyStore
from pramana.owner.keys import Keys
from pramana_core.errors import KeyFileError


def shown(keys: Keys) -> list[str]:
    return [repr(keys), str(keys), f"{keys}", repr(vars(keys)), repr(keys.secrets)]


def test_keys_that_were_made_are_opened_again(tmp_path):
    made = Keys.create(tmp_path / "keys")
    assert Keys.open(str(tmp_path / "keys")).secrets == made.secrets
    assert Keys.create(tmp_path / "others").secrets.draw != made.secrets.draw


def test_owners_share_the_linkage_secret_and_not_the_draw_key(tmp_path):
    first = Keys.create(tmp_path / "first")
    first.export_linkage(tmp_path / "linkage.key")
    second = Keys.create(tmp_path / "second", linkage=tmp_path / "linkage.key")
    assert second.fingerprints["linkage"] == first.fingerprints["linkage"]
    assert second.fingerprints["draw"] != first.fingerprints["draw"]


@pytest.mark.parametrize("left", ["draw", "linkage"])
def test_what_a_crash_left_half_made_is_finished_and_what_is_there_stays(tmp_path, left):
    whole = Keys.create(tmp_path / "keys")
    lost = "linkage" if left == "draw" else "draw"
    KeyStore(tmp_path / "keys").path(lost).unlink()
    with pytest.raises(KeyFileError):
        Keys.open(tmp_path / "keys")
    again = Keys.create(tmp_path / "keys")
    assert again.fingerprints[left] == whole.fingerprints[left]
    assert again.fingerprints[lost] != whole.fingerprints[lost]


def test_a_folder_with_another_linkage_secret_is_left_as_it_is(tmp_path):
    Keys.create(tmp_path / "others").export_linkage(tmp_path / "linkage.key")
    half = Keys.create(tmp_path / "keys")
    KeyStore(tmp_path / "keys").path("draw").unlink()
    with pytest.raises(KeyFileError):
        Keys.create(tmp_path / "keys", linkage=tmp_path / "linkage.key")
    assert not KeyStore(tmp_path / "keys").path("draw").exists()
    half.export_linkage(tmp_path / "own.key")
    finished = Keys.create(tmp_path / "keys", linkage=tmp_path / "own.key")
    assert finished.fingerprints["linkage"] == half.fingerprints["linkage"]


def test_secrets_are_nowhere_in_what_is_printed(tmp_path):
    keys = Keys.create(tmp_path / "keys")
    for text in shown(keys):
        for secret in (keys.secrets.draw, keys.secrets.linkage):
            assert secret.hex() not in text
            assert repr(secret)[2:-1] not in text
    assert all(known in repr(keys) for known in keys.fingerprints.values())


def test_keys_are_not_pickled_and_a_copy_is_the_same_object():
    keys = Keys.for_experiments(1)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(KeyFileError):
            pickle.dumps(keys, protocol)
    with pytest.raises(KeyFileError):
        pickle.dumps({"keys": [keys]})
    for inner in (keys.secrets, vars(keys)):
        with pytest.raises(KeyFileError):
            pickle.dumps(inner)
    assert copy.deepcopy(keys.secrets) is copy.copy(keys.secrets) is keys.secrets
    assert copy.copy(keys) is keys
    assert copy.deepcopy({"keys": keys})["keys"] is keys


def test_keys_for_experiments_follow_their_seeds():
    one, two = Keys.for_experiments(1, linkage_seed=5), Keys.for_experiments(2, linkage_seed=5)
    assert one.fingerprints["linkage"] == two.fingerprints["linkage"]
    assert one.fingerprints["draw"] != two.fingerprints["draw"]
    assert Keys.for_experiments(1).secrets == Keys.for_experiments(1).secrets
    assert Keys.for_experiments(1).secrets.draw == one.secrets.draw
    assert "experiments only" in repr(one)

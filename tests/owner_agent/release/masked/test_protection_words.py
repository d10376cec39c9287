"""What is said of a method fits into what the miner takes."""

from owner_agent.release.masked import protection
from pramana_core.mask import METHODS
from pramana_core.wire.release_kinds import MaskedTableMessage, TableColumn


def test_long_lists_of_told_columns_can_be_sent():
    names = [f"laboratory value number {i}" for i in range(1, 41)]
    for method in METHODS.values():
        said = protection(method, names)
        message = MaskedTableMessage(
            columns=[TableColumn(name="x", role="masked", type="numeric")],
            method=method.name,
            protection=list(said),
        )
        assert "40 columns" in " ".join(message.protection)

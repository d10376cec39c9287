"""OpenDP, an optional extra: noise with exact arithmetic, from the operating system's generator."""

from __future__ import annotations

from types import ModuleType

from pramana_core.errors import NotInstalled


def library(what: str) -> ModuleType:
    """Return OpenDP, imported when it is first asked for.

    Args:
        what: what is drawn by it, as a message begins: "Noise on shared counts is".

    Raises:
        NotInstalled: it is not installed.
    """
    try:
        import opendp.prelude as found
    except ImportError as error:
        raise NotInstalled(
            f"{what} drawn by OpenDP, which is not installed here.",
            where="noise",
            remedy="Install the extra: pip install 'pramana[noise]'.",
        ) from error
    found.enable_features("contrib")
    return found

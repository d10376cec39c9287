"""Learn models, with error bars, from data that several owners will not share.

`import pramana as pm` is what a data scientist writes: the names are listed in `__init__.pyi`
beside this file, and each is loaded with its first use. Mathematics lives in `pramana_core`, and
whatever an owner or the miner does in their own packages; this package composes them and nothing
imports it.
"""

import lazy_loader

import pramana_core  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Load a public name with its first use. Raises AttributeError, with the names alike."""
    try:
        return _found(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from pramana_core.alike import alike

        near = alike(name, __all__)
        hint = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"pramana has no name {name!r}{hint}", name=name) from None

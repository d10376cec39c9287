"""Learn models, with error bars, from data that several owners will not share.

Data scientists write `import pramana as pm`. The stub `__init__.pyi` lists the public names, and
each is loaded at its first use. The mathematics is in `pramana_core`; owners and the miner have
their own packages. This package combines them, and no other package imports it.
"""

import lazy_loader

import pramana_core  # noqa: F401 - before numpy: it limits the threads of linear algebra

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Load a public name at its first use. Raises AttributeError, which suggests similar names."""
    try:
        return _found(name)
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from pramana_core.alike import alike

        near = alike(name, __all__)
        hint = f"; did you mean {near}?" if near else ""
        raise AttributeError(f"pramana has no name {name!r}{hint}", name=name) from None

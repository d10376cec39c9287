"""Learn models, with error bars, from data that several owners will not share.

`import pramana as pm` is what a data scientist writes: the names are listed in `__init__.pyi`
beside this file, and each is loaded with its first use. Mathematics lives in `shared`, and whatever
an owner or the miner does in their own packages; this package composes them and nothing imports it.
"""

import lazy_loader

import shared  # noqa: F401 - before numpy is loaded: it says how many threads linear algebra takes

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

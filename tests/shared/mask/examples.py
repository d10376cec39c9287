"""Tables that the tests of masking share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]


def linear(n: int = 200, p: int = 3, q: int = 2, seed: int = 1) -> tuple[Floats, Floats]:
    """S and X of normal columns, X linear in S with as much noise."""
    rng = np.random.default_rng(seed)
    told = rng.normal(size=(n, p))
    return told, told @ rng.normal(size=(p, q)) / np.sqrt(max(p, 1)) + rng.normal(size=(n, q))


def mixed(n: int = 300, seed: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """S with a number, categories and truth values; X with a number and whole numbers."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 60, n)
    town = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    told = pd.DataFrame({"age": age, "town": town, "owner": rng.random(n) < 0.4})
    income = 300 + 5 * age + 40 * (town == "west") + rng.gamma(2, 30, n)
    children = rng.poisson(1 + age / 40)
    secret = pd.DataFrame({"income": income, "children": children})
    index = pd.Index(rng.permutation(n), name="person")
    return told.set_index(index), secret.set_index(index)


def indicators(told: pd.DataFrame) -> Floats:
    """S of `mixed` as numbers, made by hand."""
    columns = [told["age"], told["town"] == "south", told["town"] == "west", told["owner"]]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

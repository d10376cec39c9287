"""Synthetic records: drawn from a network and written with their categories' names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from pramana_core.errors import OptionError
from pramana_core.learn.common.documents import stream
from pramana_core.learn.networks.network import BayesNet
from pramana_core.marginals.counts import Codes

CHUNK = 1 << 14
"""Records drawn at a time; part of what a seed means, like the order of the nodes."""


def sample_csv(network: BayesNet, records: int, seed: int) -> Iterator[str]:
    """Return synthetic records as CSV (RFC 4180), piece by piece; first the header.

    Raises:
        OptionError: no records, or a negative seed.
    """
    nodes = network.structure.nodes
    chunks = sample_chunks(network, records, seed)
    words = {
        name: np.array([_field(c) for c in network.domain[name].categories], dtype=object)
        for name in nodes
    }

    def pieces() -> Iterator[str]:
        yield ",".join(map(_field, nodes)) + "\r\n"
        for chunk in chunks:
            rows = zip(*(words[name][chunk[name]] for name in nodes), strict=True)
            yield "".join(",".join(row) + "\r\n" for row in rows)

    return pieces()


def sample_chunks(network: BayesNet, records: int, seed: int) -> Iterator[dict[str, Codes]]:
    """Return the codes of synthetic records, `CHUNK` records at a time.

    Raises:
        OptionError: no records, or a negative seed.
    """
    if records < 1:
        raise OptionError(f"records must be at least 1, not {records}.", where="records")
    if seed < 0:
        raise OptionError(f"seed must be 0 or more, not {seed}.", where="seed")
    rng = stream(seed)
    starts = range(0, records, CHUNK)
    return (network.sample(min(CHUNK, records - start), rng) for start in starts)


def _field(text: str) -> str:
    """Return a field of a CSV file, quoted if it must be."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow([text])
    return buffer.getvalue()

"""Work in stages that overlap: each stage is an iterator, and works at the next item meanwhile."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Generator[Item]:
    """Yield items, each of which is made in a thread while the one before it is used.

    In memory are one item that is used and one that is made. An error in an item is raised where
    that would have come; whoever stops early waits for the item that is being made.
    """
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]

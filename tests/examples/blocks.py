"""The Python of a page: its blocks run in order, and what they print is what the page shows.

    python blocks.py PAGE.md

runs a page as a reader would, from any folder, and needs nothing of the project's tests.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"^```python([^\n]*)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A block of Python on a page.

    Attributes:
        words: what stands after ```` ```python ````; the label of a block that is one of a pair.
        code: its lines.
        printed: what the page shows below it; None where it shows nothing.
        line: where its code begins.
    """

    words: str
    code: str
    printed: str | None
    line: int

    @property
    def code_lines(self) -> list[str]:
        """Return the lines that are neither blank nor a comment."""
        lines = map(str.strip, self.code.splitlines())
        return [line for line in lines if line and not line.startswith("#")]


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [
        Block(found[1].strip(), found[2], found[3], text[: found.start(2)].count("\n") + 1)
        for found in _BLOCK.finditer(text)
    ]


def run(block: Block, namespace: dict[str, Any], page: str) -> str:
    """Run a block in a namespace; returns what it prints, without blanks at the ends of lines."""
    code = compile("\n" * (block.line - 1) + block.code, page, "exec")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, namespace)
    return "".join(f"{line.rstrip()}\n" for line in said.getvalue().splitlines())


def run_page(text: str, page: str) -> Iterator[tuple[Block, str]]:
    """Run all blocks of a page in one namespace; yields each with what it prints."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(text):
        yield block, run(block, namespace, page)


def with_printed(text: str, said: Sequence[str]) -> str:
    """Return a page with what its blocks print below them, in place of what was there."""
    printed = iter(said)

    def shown(found: re.Match[str]) -> str:
        now = next(printed)
        below = f"\n```text\n{now}```\n" if now else ""
        return f"```python{found[1]}\n{found[2]}```\n{below}"

    return _BLOCK.sub(shown, text)


def main(path: Path) -> None:
    """Run a page and say where it prints something else than it shows."""
    text = path.read_text(encoding="utf-8")
    for block, said in run_page(text, path.name):
        if said != (block.printed or ""):
            sys.exit(f"{path.name}:{block.line} shows\n{block.printed}\nand prints\n{said}")
    print(f"{path.name}: {len(blocks(text))} blocks run")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

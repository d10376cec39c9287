"""Executes the notebooks and stores them with what they print: `make notebooks`.

Each is written as a script of cells beside this file; the `.ipynb` of its name is made from it and
is not to be edited.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NAMES = ("analyst", "custodian")

SETTINGS = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "COLUMNS": "100"}


def stored(name: str) -> Path:
    """Return where an executed notebook is kept."""
    return HERE / f"{name}.ipynb"


def executed(name: str, *, patience: int = 300) -> nbformat.NotebookNode:
    """Return a notebook as its script says it, with the outputs of a fresh kernel.

    It runs in an empty folder and imports this checkout. What differs from run to run is left out:
    times, bars of progress, the kernel's and the language's versions, the cells' random ids.

    Args:
        name: of `NAMES`.
        patience: seconds for each cell.
    """
    notebook = jupytext.read(HERE / f"{name}.py")
    environment = {
        **os.environ,
        **SETTINGS,
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "shared"))),
    }
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=patience,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=environment)
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        if "outputs" in cell:
            cell.outputs = [one for one in cell.outputs if one.get("data") != {"text/plain": ""}]
    return notebook


def main() -> None:
    """Execute those that are named, or all, and store them, or one elsewhere."""
    asked = argparse.ArgumentParser(description="Execute notebooks and store what they print.")
    asked.add_argument("names", nargs="*", metavar="name", help=" or ".join(NAMES))
    asked.add_argument("--to", type=Path, help="where to store it, of one that is named")
    given = asked.parse_args()
    for name in given.names or NAMES:
        nbformat.write(executed(name), given.to or stored(name))


if __name__ == "__main__":
    main()

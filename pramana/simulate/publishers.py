"""Publishers: who says at which levels a table may be published, a process or our own search.

The help of a command names them, so that what publishes is loaded only once somebody asks for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pramana_core.errors import NotInstalled, OptionError, RequirementUnmet

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pramana_core.mixed.table import MixedTable
    from pramana_core.model_sharing.attributes import TreeSchema
    from pramana_core.model_sharing.full_domain import Cells
    from pramana_core.model_sharing.requirements import Requirement

WORKER = Path(__file__).with_name("anjana_worker.py")

PUBLISHER = "PRAMANA_PUBLISHER"
"""The environment variable that names the Python that has anjana."""

_REMEDY = (
    "Run `make publishing-peer`, which makes one, and name its Python with --publisher"
    f" (.venv-publishing/bin/python) or in {PUBLISHER}. Without anjana, --publisher full-domain"
    " searches the hierarchies itself."
)

PATIENCE = 3600.0
"""Seconds until a publisher that does not answer is ended."""

Levels = dict[str, int]


class Publisher(Protocol):
    """Says at which level each attribute of a table is published."""

    @property
    def name(self) -> str:
        """What it is called."""

    def publish(
        self,
        schema: TreeSchema,
        table: MixedTable,
        classes: npt.NDArray[np.intp],
        requirements: Sequence[Requirement],
    ) -> list[Levels | None]:
        """Return for each requirement the levels by attribute, or None: nothing can be published.

        Args:
            schema: the class and the attributes, with their taxonomies.
            table: the attributes of n records.
            classes: their class codes, n.
            requirements: what every group of records that look alike must meet.
        """


@dataclass(frozen=True)
class FullDomain:
    """Our own search for the generalization of most hits (`best_levels`)."""

    name: str = "full-domain"

    def publish(
        self,
        schema: TreeSchema,
        table: MixedTable,
        classes: npt.NDArray[np.intp],
        requirements: Sequence[Requirement],
    ) -> list[Levels | None]:
        """See `Publisher`."""
        from pramana_core.model_sharing.full_domain import Cells, best_levels, hierarchies_of

        cells = Cells.of(hierarchies_of(schema), schema.read(table), classes, schema.classes)
        found: list[Levels | None] = []
        for requirement in requirements:
            try:
                found.append(best_levels(cells, requirement).levels)
            except RequirementUnmet:
                found.append(None)
        return found


@dataclass(frozen=True)
class Process:
    """A publisher in an environment of its own: anjana, or what answers as its worker does.

    Args:
        python: the Python that runs the worker.
        worker: the worker's file.
    """

    python: str
    worker: Path = WORKER
    name: str = "anjana"

    def publish(
        self,
        schema: TreeSchema,
        table: MixedTable,
        classes: npt.NDArray[np.intp],
        requirements: Sequence[Requirement],
    ) -> list[Levels | None]:
        """See `Publisher`; what the process answers is checked here.

        Raises:
            NotInstalled: there is no such Python, or it has not got what the worker needs.
            OptionError: it ended with an error, or answered what is no valid publication.
        """
        from pramana_core.model_sharing.full_domain import Cells, hierarchies_of

        hierarchies = hierarchies_of(schema)
        records = schema.read(table)
        request = {
            "codes": {
                h.attribute.name: h.base(records[h.attribute.name]).tolist() for h in hierarchies
            },
            "classes": classes.tolist(),
            "levels": {
                h.attribute.name: [
                    [f"{place} {name}" for name in level] for place, level in enumerate(h.levels)
                ]
                for h in hierarchies
            },
            "requirements": [{"k": r.k, "c": r.c, "l": r.l} for r in requirements],
        }
        found = self._answer(request).get("published")
        if not isinstance(found, list) or len(found) != len(requirements):
            raise _failed("did not answer one publication for each requirement")
        cells = Cells.of(hierarchies, records, classes, schema.classes)
        for levels, requirement in zip(found, requirements, strict=True):
            _check(levels, requirement, cells)
        return found

    @cached_property
    def version(self) -> str:
        """The version of what publishes."""
        empty: dict[str, Any] = {"codes": {}, "classes": [], "levels": {}, "requirements": []}
        return str(self._answer(empty).get("version"))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            # What runs is a Python that the user names and our own file: no shell, no input.
            done = subprocess.run(
                [self.python, "-I", str(self.worker)],
                input=json.dumps(request),
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except OSError:
            raise NotInstalled(
                f"There is no Python for publishing at {self.python}.", remedy=_REMEDY
            ) from None
        except subprocess.TimeoutExpired:
            raise _failed(f"did not answer within {PATIENCE:g} seconds") from None
        if "ModuleNotFoundError" in done.stderr:
            raise NotInstalled(f"{self.python} has no anjana.", remedy=_REMEDY)
        if done.returncode:
            raise _failed(f"ended with code {done.returncode}")
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise _failed("did not answer with a JSON object")
        return answer


def _check(levels: Any, requirement: Requirement, cells: Cells) -> None:
    """Check levels that a process answered: all there, none beyond its hierarchy, and enough."""
    if levels is None:
        return
    heights = {h.attribute.name: h.height for h in cells.hierarchies}
    known = isinstance(levels, dict) and set(levels) == set(heights)
    if not known or not all(type(v) is int and 0 <= v <= heights[n] for n, v in levels.items()):
        raise _failed("answered levels that are not those of the attributes")
    if not cells.groups([levels[name] for name in heights]).meet(requirement):
        raise _failed("chose levels at which the table does not meet the requirement")


def _failed(what: str) -> OptionError:
    return OptionError(
        f"The process that publishes {what}.",
        where="--publisher",
        remedy="Name a Python that has anjana 1.2.3, as `make publishing-peer` installs it.",
    )


def publisher_of(named: Publisher | str | None = None) -> Publisher:
    """Return a publisher by name: `full-domain`, our own search, or the path of a Python.

    Where none is named the environment variable `PRAMANA_PUBLISHER` decides.

    Raises:
        NotInstalled: there is no such Python.
    """
    if named is not None and not isinstance(named, str):
        return named
    chosen = named or os.environ.get(PUBLISHER, "")
    if chosen == FullDomain.name:
        return FullDomain()
    if not chosen:
        raise NotInstalled("Publishing needs anjana, in an environment of its own.", remedy=_REMEDY)
    return Process(chosen)

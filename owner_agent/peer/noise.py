"""Tables with noise: what a session tells of them, what they cost, and how they are drawn.

All tables that are disclosed for the first time share the session's epsilon. Those disclosed before
repeat their noise and cost nothing: they are kept for ever, and who asks for one again gets the
same noise. A table is known again by the records and groups of its columns, whatever these and
their categories are called, in whatever order they stand, and however many of them nobody has.
Another draw for the same counts would let a peer take the average.

Also here:

* Discrete noise for counts, drawn and accounted for by OpenDP; its variance is known exactly.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from owner_agent.peer.exact import CountedColumns, first_order, recalled, remember
from owner_agent.peer.exchange.catalogue import LocalRecords
from owner_agent.peer.exchange.incoming import session_entry
from owner_agent.peer.protocol.messages import Proposal
from owner_agent.randomize.draws import library
from owner_agent.release.composition import population_of, sketch_of
from owner_agent.release.ledger import NOISE, Draw, Entry, Form, Ledger
from owner_agent.site.mistakes import GaussianNoise, LaplaceNoise
from owner_agent.state.private_files import private_directory, state_directory, write_replacing
from pramana_core.errors import Conflict, LimitExceeded, NoiseSpent, StoreCorrupt
from pramana_core.marginals.counts import CUBE_CELLS, tabulate
from pramana_core.marginals.passes import Counts, NoisyCounts, NoisyTable
from pramana_core.wire.base import Message

# Discrete noise for counts, drawn and accounted for by OpenDP; its variance is known exactly.
#
# A record that changes its values leaves one cell of each table and enters another. Over k tables
# that is a distance of 2 k (L1) or sqrt(2 k) (L2), for which the scale is chosen:
#
# * discrete Laplace, P(x) proportional to exp(-|x| / b), with b = 2 k / epsilon;
# * discrete Gaussian, P(x) proportional to exp(-x^2 / (2 s^2)), which is k / s^2-zCDP, with the
#   least
#   s for which that is (epsilon, delta) by the conversion of Canonne, Kamath and Steinke (2020).
#
# OpenDP is an optional extra (`noise`), imported when the first noise is asked for. It draws from
# the operating system's generator, with exact arithmetic.

_TAIL = 40
"""So many scales from its middle the Gaussian is nothing, even beside rounding."""


@dataclass(frozen=True)
class NoiseMechanism:
    """The noise of one session: its kind, and its scale (b or s above)."""

    kind: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of the noise in one cell; its mean is 0."""
        if self.kind == "laplace":
            return 0.5 / math.sinh(0.5 / self.scale) ** 2
        values = np.arange(1, math.ceil(_TAIL * self.scale) + 2, dtype=np.float64)
        weights = np.exp(-np.square(values) / (2 * self.scale**2))
        return float(2 * (np.square(values) * weights).sum() / (1 + 2 * weights.sum()))

    def draw(self, cells: int) -> npt.NDArray[np.int64]:
        """Return independent noise for some cells. Raises NotInstalled."""
        return np.array(_measurement(self.kind, self.scale)([0] * cells), dtype=np.int64)


DrawNoise = Callable[[NoiseMechanism, int], npt.NDArray[np.int64]]
"""Draws the noise of some cells; `NoiseMechanism.draw`, where nothing else is said."""


def mechanism_for(demand: LaplaceNoise | GaussianNoise, tables: int) -> NoiseMechanism:
    """Return the noise that some tables together need to keep to a demand. Raises NotInstalled."""
    if isinstance(demand, LaplaceNoise):
        scale = 2 * tables / demand.epsilon
        # The library rounds the loss up: the next number may be needed.
        while _measurement("laplace", scale).map(2 * tables) > demand.epsilon:
            scale = math.nextafter(scale, math.inf)
        return NoiseMechanism("laplace", scale)
    opendp = _library()
    scale = opendp.binary_search_param(
        lambda s: _approximate(s, demand.delta),
        d_in=math.sqrt(2 * tables),
        d_out=(demand.epsilon, demand.delta),
        T=float,
    )
    return NoiseMechanism("gaussian", float(scale))


def _approximate(scale: float, delta: float) -> Any:
    opendp = _library()
    curve = opendp.c.make_zCDP_to_approxDP(_measurement("gaussian", scale))
    return opendp.c.make_fix_delta(curve, delta)


def _measurement(kind: str, scale: float) -> Any:
    opendp = _library()
    counts = opendp.vector_domain(opendp.atom_domain(T=int))
    if kind == "laplace":
        return opendp.m.make_laplace(counts, opendp.l1_distance(T=int), scale=scale)
    return opendp.m.make_gaussian(counts, opendp.l2_distance(T=float), scale=scale)


def _library() -> ModuleType:
    return library("Noise on shared counts is")


_FOLDER = "noisy-tables"


class DisclosedTable(Message):
    """A table as it was disclosed, axes and categories in the order of its `TableLayout`.

    Categories that nobody has come last; it has as many of them as any session that told it.
    """

    session: str
    kind: Literal["laplace", "gaussian"]
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    shape: list[int]
    counts: list[int]

    @property
    def variance(self) -> float:
        """The variance of the noise in each count."""
        return NoiseMechanism(self.kind, self.scale).variance


@dataclass(frozen=True, eq=False)
class TableLayout:
    """A table's columns in an order that depends on their records and groups alone.

    Attributes:
        digest: the table's identity.
        names: its columns as the session has them.
        order: the places of `names` in the kept table's order of axes.
        places: for each of `names` the kept place of each of its codes.
    """

    digest: str
    names: tuple[str, ...]
    order: tuple[int, ...]
    places: tuple[npt.NDArray[np.int64], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The session's table's shape, axes in the kept order."""
        return tuple(len(self.places[axis]) for axis in self.order)

    def kept(self, counts: Counts) -> Counts:
        """Return counts, axes as `names`, in the kept table's order."""
        arranged = counts[np.ix_(*(np.argsort(place) for place in self.places))]
        return np.transpose(arranged, self.order)

    def shown(self, kept: Counts) -> Counts:
        """Return kept counts with axes and codes as the session has them."""
        return np.transpose(kept, np.argsort(self.order))[np.ix_(*self.places)]


def layout_of(counted: CountedColumns, names: Sequence[str]) -> TableLayout:
    """Return how the table over some columns is kept."""
    sizes = counted.plan.reported_sizes
    parts = [counted.digest(name) for name in names]
    order = tuple(sorted(range(len(names)), key=parts.__getitem__))
    whole = hashlib.sha256("\n".join(["pramana/table/2", *(parts[i] for i in order)]).encode())
    places = tuple(_places(counted, name, int(sizes[name])) for name in names)
    return TableLayout(whole.hexdigest(), tuple(names), order, places)


def exact_table(counted: CountedColumns, names: Sequence[str]) -> Counts:
    """Return the true table over some columns. Raises LimitExceeded."""
    shape = [int(counted.plan.reported_sizes[name]) for name in names]
    _require_few_cells(names, shape)
    return tabulate([counted.columns[name] for name in names], shape)


def with_noise(
    exact: Counts,
    layout: TableLayout,
    noise: npt.NDArray[np.int64],
    mechanism: NoiseMechanism,
    session: str,
) -> DisclosedTable:
    """Return a table with noise, as it is kept and told."""
    noisy = layout.kept(exact + noise.reshape(exact.shape))
    return DisclosedTable(
        session=session,
        kind=mechanism.kind,
        scale=mechanism.scale,
        shape=list(noisy.shape),
        counts=noisy.ravel().tolist(),
    )


def widened(kept: DisclosedTable, layout: TableLayout, draw: DrawNoise) -> DisclosedTable:
    """Return a kept table with cells for all categories that the session has, or itself.

    Nobody is in the new cells. They get the noise that they would have got with the others: so it
    is one table with one noise, of which each session tells a part, and what it costs is paid.

    Raises:
        LimitExceeded: it would have too many cells.
    """
    shape = tuple(max(sizes) for sizes in zip(kept.shape, layout.shape, strict=True))
    if shape == tuple(kept.shape):
        return kept
    _require_few_cells(layout.names, shape)
    noisy = draw(NoiseMechanism(kept.kind, kept.scale), math.prod(shape)).reshape(shape)
    noisy[tuple(slice(size) for size in kept.shape)] = np.reshape(kept.counts, kept.shape)
    return kept.model_copy(update={"shape": list(shape), "counts": noisy.ravel().tolist()})


def shown(kept: DisclosedTable, layout: TableLayout) -> NoisyTable:
    """Return a kept table as the session names its columns and codes."""
    counts = np.array(kept.counts, dtype=np.int64).reshape(kept.shape)
    return NoisyTable(layout.shown(counts), kept.variance)


def kept_table(state: Path, digest: str) -> DisclosedTable | None:
    """Return the table that was disclosed before, or None. Raises StoreCorrupt."""
    path = state / _FOLDER / f"{digest}.json"
    if not path.exists():
        return None
    try:
        return DisclosedTable.model_validate_json(path.read_bytes())
    except ValidationError:
        raise StoreCorrupt(
            f"{path} is not a table that was disclosed.",
            where=str(path),
            remedy="Restore it from your backup.",
        ) from None


def keep_table(state: Path, digest: str, table: DisclosedTable) -> None:
    """Keep a table, durably, before it is disclosed."""
    folder = private_directory(state_directory(state) / _FOLDER)
    write_replacing(folder / f"{digest}.json", table.model_dump_json().encode())


def _require_few_cells(names: Sequence[str], shape: Sequence[int]) -> None:
    cells = math.prod(shape)
    if cells > CUBE_CELLS:
        raise LimitExceeded(
            f"A table over {list(names)} has {cells} cells; noise is added to at most"
            f" {CUBE_CELLS}.",
            where=", ".join(names),
            remedy="Give the variables fewer parents or fewer categories.",
        )


def _places(counted: CountedColumns, name: str, size: int) -> npt.NDArray[np.int64]:
    """Return a place for each code: those that occur in the order in which they do first."""
    present, first = np.unique(counted.columns[name], return_index=True)
    places = np.empty(size, dtype=np.int64)
    places[present] = first_order(first)
    absent = np.setdiff1d(np.arange(size), present)
    places[absent] = len(present) + np.arange(len(absent))
    return places


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """What a session would tell with noise; see `RecordDisclosure`.

    Attributes:
        counts: the tables, from which all that is disclosed is made.
        before: the tables that were kept before the session, by digest; None if there was none.
        now: the tables as they will be kept: those that were not told before, and those that have
            cells now that they had not.
        columns: the own columns in tables that were not told before, with their names in the
            session.
    """

    counts: NoisyCounts
    before: dict[str, DisclosedTable | None]
    now: dict[str, DisclosedTable]
    columns: dict[str, str]

    @property
    def fresh(self) -> list[str]:
        """The digests of the tables that were not told before: what costs something."""
        return [digest for digest in self.now if self.before[digest] is None]

    def enter(self, holding: LocalRecords, proposal: Proposal, now: datetime) -> None:
        """Write the noise into the ledger and keep the tables, before they are disclosed.

        Raises:
            NoiseSpent: it would cost more than the site file allows.
            Conflict: another process of this site told one of the tables meanwhile.
        """
        state = holding.site.state
        for digest in self.now:
            if kept_table(state, digest) != self.before[digest]:
                raise _told_meanwhile(holding)
        # Also where nothing exact is disclosed: that the file is there is how its loss is noticed.
        remember(state, recalled(state), ())
        if self.fresh:
            demand = _demand(holding)
            require_affordable(holding, Ledger(state).entries())
            Ledger(state).add(self._entry(holding, proposal, demand.epsilon, now))
        for digest, table in self.now.items():
            keep_table(state, digest, table)

    def _entry(
        self, holding: LocalRecords, proposal: Proposal, epsilon: float, now: datetime
    ) -> Entry:
        digest = hashlib.sha256("\n".join(sorted(self.fresh)).encode()).hexdigest()
        identity = f"{NOISE}{proposal.session}"
        population = population_of(holding.keys, identity, ())
        return replace(
            session_entry(holding, proposal, proposal.others(holding.site.owner), now),
            name=identity,
            content=digest,
            digest=digest,
            state="sending",
            draws=tuple(
                Draw(column, variable, identity, epsilon, Form.RANDOMIZED, population)
                for column, variable in self.columns.items()
            ),
            sketch=sketch_of(holding.keys),
        )


def noisy_tables(
    holding: LocalRecords,
    proposal: Proposal,
    counted: CountedColumns,
    families: Sequence[tuple[str, ...]],
    draw: DrawNoise = NoiseMechanism.draw,
) -> NoisyTables:
    """Return the tables of families with the noise that the site file demands.

    Args:
        holding: this owner's records.
        proposal: the session.
        counted: the columns that the families are made from.
        families: for each the columns whose table it is made from.
        draw: draws noise.

    Raises:
        NoiseSpent: it would cost more than the site file allows.
        NotInstalled: the library that draws it is not there.
        LimitExceeded: a table has too many cells.
    """
    layouts = {layout.digest: layout for layout in (layout_of(counted, f) for f in families)}
    before = {digest: kept_table(holding.site.state, digest) for digest in layouts}
    now: dict[str, DisclosedTable] = {}
    wanted = [digest for digest, kept in before.items() if kept is None]
    if wanted:
        require_affordable(holding, Ledger(holding.site.state).entries())
        mechanism = mechanism_for(_demand(holding), len(wanted))
        for digest in wanted:
            exact = exact_table(counted, layouts[digest].names)
            noise = draw(mechanism, exact.size)
            now[digest] = with_noise(exact, layouts[digest], noise, mechanism, proposal.session)
    for digest, kept in before.items():
        if kept is not None and (wider := widened(kept, layouts[digest], draw)) != kept:
            now[digest] = wider
    tables: dict[tuple[str, ...], NoisyTable] = {}
    for names in families:
        layout = layout_of(counted, names)
        table = now.get(layout.digest) or before[layout.digest]
        assert table is not None  # noqa: S101 - every digest is in one of the two
        tables[names] = shown(table, layout)
    own = {name for digest in wanted for name in layouts[digest].names if name in holding.names}
    columns = {holding.plan.columns[name]: name for name in holding.names if name in own}
    return NoisyTables(NoisyCounts(tables, len(holding.keys)), before, now, columns)


def noise_spent(entries: Sequence[Entry]) -> float:
    """Return the epsilon of all noise so far; every session may be about the same records."""
    spent = {
        draw.draw_id: draw.epsilon for entry in entries for draw in entry.draws if draw.is_noise
    }
    return sum(spent.values())


def require_affordable(holding: LocalRecords, entries: Sequence[Entry]) -> None:
    """Check that one more session's noise stays within what the site file allows in all.

    Raises:
        NoiseSpent: it does not.
    """
    demand, owner = _demand(holding), holding.site.owner
    after = noise_spent(entries) + demand.epsilon
    if after > demand.max_epsilon * (1 + 1e-12):
        raise NoiseSpent(
            f"{owner} does not share more counts: with this session they would cost epsilon"
            f" {after:.4g} in all, and {owner} allows {demand.max_epsilon:.4g}.",
            where=owner,
            remedy="Ask for the families of an earlier session, which cost nothing more, or let"
            f" {owner} raise max_epsilon in its [peer] section deliberately.",
        )


def _told_meanwhile(holding: LocalRecords) -> Conflict:
    owner = holding.site.owner
    return Conflict(
        f"Another process of {owner} shared some of the same counts meanwhile, with other noise.",
        where=owner,
        remedy="Begin another session: it sends them with the noise they had.",
    )


def _demand(holding: LocalRecords) -> LaplaceNoise | GaussianNoise:
    demand = holding.site.peer.noise
    assert demand is not None  # noqa: S101 - asked only where there is one
    return demand

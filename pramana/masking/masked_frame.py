"""Masked records: what may leave, and what it keeps and gives away.

Also here:

* Masked records as one Parquet file: what may leave, and what to know of it beside the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge
from pydantic import Field, ValidationError

from pramana.frames.sentences import listed, one_sentence, options_told
from pramana.frames.tables import shown
from pramana.masking.measuring import Origin, measured
from pramana.reporting.files import require_path, require_version, write_whole
from pramana.showing import card, plotted
from pramana_core.errors import OptionError, StoreCorrupt, TableUnreadable
from pramana_core.learn.common.options import InnerShare, require_limit
from pramana_core.marginals.counts import LEVEL
from pramana_core.wire.base import Message

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from pramana_core.mask.core.influence import Influence
    from pramana_core.mask.recommending import Recommendation
    from pramana_core.pictures.plots import Chart

_MANY = 12
"""A notebook shows so many warnings."""


@dataclass(frozen=True, eq=False, repr=False)
class MaskedFrame:
    """Records whose confidential columns are masked; `pm.mask` makes them.

    `frame` may leave; the object itself stays, for it remembers the true records, of which
    `measures`, `compare` and `plot` tell. What `save` writes holds none of them.

    Attributes:
        method: the method that masked them.
        tell: the columns released as they are.
        confidential: the masked columns.
        copies: frames of the told and the masked columns, n rows each; the rows are the same.
        warnings: what must be known before this leaves, a sentence each, the gravest first.
        details: what was chosen on the way, by name; nothing of it is about one record.
        origin: the true records; None of what was loaded.
        influence: what of masked values is their records' own (`exposure`); None of what was
            loaded, and of `sadp` and `cadp`, which put noise on the true values.

    Examples:
        >>> import pramana as pm
        >>> store = pm.example("store")
        >>> masked = pm.mask(store, ["expenditure", "debt"], method="egadp", rng=1)
        >>> masked
        MaskedFrame(1,000 records by egadp; masked: expenditure, debt; told: age, gender)
        >>> masked.frame.columns.tolist()
        ['age', 'gender', 'expenditure', 'debt']
        >>> masked.frame["debt"].mean().round(6) == store["debt"].mean().round(6)
        np.True_
    """

    method: str
    tell: tuple[str, ...]
    confidential: tuple[str, ...]
    copies: tuple[pd.DataFrame, ...]
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin | None = field(default=None, repr=False)
    influence: Influence | None = field(default=None, repr=False)

    @property
    def frame(self) -> pd.DataFrame:
        """The masked records; the first copy, where there are several."""
        return self.copies[0]

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def recommendation(self) -> Recommendation:
        """Which method the true records call for, and by what evidence (`recommend_masking`).

        Raises:
            OptionError: these were loaded from a file, which has no true records.
        """
        return self._origin("recommendation").recommendation

    @cached_property
    def _measures(self) -> pd.DataFrame:
        origin = self._origin("measures")
        masked = self.frame[list(self.confidential)]
        return measured(origin.columns, origin.unmixed(masked), origin.seed, self.influence)

    def measures(self) -> pd.DataFrame:
        """Return what the masked records keep and what they give away, a row per measure.

        Columns: `group`, utility or security; `measure`; `about`, the columns it is of; `value`;
        `standard_error`, NaN where there is none; `sentence`, what the value means. Of several
        copies it is the first that is measured.

        Raises:
            OptionError: these were loaded from a file, which has no true records.
        """
        return self._measures.copy()

    def exposure(self) -> pd.DataFrame:
        """Return how much of each record's masked value is its own, a row per record, most first.

        The index is that of the true records, so the rows say whose they are: they stay. Of several
        confidential columns a row is about the `column` of which most is told. `own_weight`: how
        much the masked value moves with the true one, at the fit that was chosen. `noise`: the
        standard deviation of the noise, in those of what S leaves of the column. `told`: the share
        of what S leaves of such a record that its masked value tells whoever knows all others,
        w^2 / (w^2 + noise^2). `named`: whether that is above a quarter, which is warned of.

        Raises:
            OptionError: these were loaded from a file, or the method puts noise on the true values
                and predicts nothing.

        Examples:
            >>> import pramana as pm
            >>> masked = pm.mask(pm.example("store"), ["debt"], method="egadp", rng=1)
            >>> masked.exposure()["named"].any()
            np.False_
        """
        import pandas as pd

        origin = self._origin("exposure")
        found = self.influence
        if found is None:
            raise OptionError(
                f"exposure is of methods that predict; {self.method} puts noise on the true"
                " values themselves.",
                where="exposure",
            )
        order = found.order
        frame = pd.DataFrame(
            {
                "column": [self.confidential[place] for place in found.columns],
                "own_weight": found.own,
                "noise": found.noise,
                "told": found.told,
                "named": found.exposed,
            },
            index=origin.columns.table.index,
        )
        return frame.iloc[order]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw relationships among the true records above, among the masked ones below.

        The picture shows true values: it is for whoever may see these.

        Args:
            ax: matplotlib axes to draw on; None makes a figure.

        Returns:
            the axes.

        Raises:
            OptionError: `ax` is no axes, or these were loaded from a file.
        """
        return plotted(self._picture(), ax)

    def _picture(self) -> Chart:
        from pramana_core.mask.pictures import pairs_to_show, relationships_chart

        origin = self._origin("plot")
        s, x = origin.columns.s, origin.columns.x
        masked = origin.masked(self.frame, self.confidential)
        versions = [("true", s.beside(x)), (f"masked by {self.method}", s.beside(masked))]
        return relationships_chart(versions, pairs_to_show(s, x))

    def save(self, path: str | Path) -> None:
        """Write one Parquet file of all copies: what may leave, and nothing of the true records.

        Told columns are in it once; a masked one is called `name@1`, `name@2`, ... where there are
        several copies, as in a release. `pm.load` reads it.

        Args:
            path: the file; one that is there is replaced.

        Raises:
            OptionError: it cannot be written there.

        Examples:
            >>> import pramana as pm, tempfile
            >>> masked = pm.mask(pm.example("store"), ["debt"], method="egadp", rng=1)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     masked.save(f"{folder}/store.parquet")
            ...     pm.load(f"{folder}/store.parquet").frame.equals(masked.frame)
            True
        """
        _write(self, path)

    @classmethod
    def load(cls, path: str | Path) -> MaskedFrame:
        """Read masked records that `save` wrote; the true ones are not in a file.

        Raises:
            TableUnreadable: there is no such file, or it is not one of masked records.
        """
        return _read(path)

    def _origin(self, asked: str) -> Origin:
        if self.origin is None:
            raise OptionError(
                f"{asked} needs the true records, which are not in a file of masked ones; pass both"
                " to pm.masking_measures(original, released, confidential=[...]).",
                where=asked,
            )
        return self.origin

    def __reduce__(self) -> Any:
        """Refuse to be pickled or copied deeply: the true records would go with it."""
        raise OptionError(
            "A MaskedFrame must not be pickled, for it holds the true records; its frame may be,"
            " and save writes what may leave.",
            where="MaskedFrame",
        )

    def __repr__(self) -> str:
        several = f" in {len(self.copies)} copies" if len(self.copies) > 1 else ""
        told = listed(self.tell) or "nothing"
        doubt = f"; {_counted(self.warnings)}" if self.warnings else ""
        return (
            f"MaskedFrame({len(self):,} records{several} by {self.method};"
            f" masked: {listed(self.confidential)}; told: {told}{doubt})"
        )

    def _repr_html_(self) -> str:
        from pramana_core.mask.core.cautions import gravity_of

        facts = [("records", f"{len(self):,}"), ("method", self.method)]
        facts += [("copies", str(len(self.copies)))] if len(self.copies) > 1 else []
        facts += [("masked", listed(self.confidential)), ("told", listed(self.tell) or "nothing")]
        facts += [(gravity_of(words).name.lower(), words) for words in self.warnings[:_MANY]]
        picture = ""
        if self.origin is not None:
            facts.append(("picture", "true values above, masked ones below: it must not leave"))
            picture = self._picture().svg()
        with one_sentence():
            return card("MaskedFrame", facts, picture, self.frame, "frame has all")


def _counted(warnings: Sequence[str]) -> str:
    """Return how many warnings there are, and how many of them are grave."""
    from pramana_core.mask.core.cautions import Gravity, gravity_of

    grave = sum(gravity_of(words) == Gravity.GRAVE for words in warnings)
    many = f"{len(warnings)} warning{'' if len(warnings) == 1 else 's'}"
    return f"{many}, {grave} of them grave" if grave else many


# Masked records as one Parquet file: what may leave, and what to know of it beside the schema.

VERSION = 1
MARK = b"pramana-masked"
"""Under this key stands everything that is not a column, as JSON."""


class _Described(Message):
    version: Annotated[int, Field(strict=True)]
    kind: Literal["masked-records"]
    method: str
    tell: list[str]
    confidential: list[str]
    copies: Annotated[int, Field(ge=1)]
    order: list[str]
    warnings: list[str]
    gravities: list[Literal["GRAVE", "WARNING", "NOTE"]] = Field(default_factory=list)
    """Of each warning; files of before have none."""


def _write(contents: MaskedFrame, path: str | Path) -> None:
    """Write masked records. Raises OptionError where they cannot be."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pramana_core.mask.core.cautions import gravity_of

    described = _Described.model_validate(
        {
            "version": VERSION,
            "kind": "masked-records",
            "method": contents.method,
            "tell": list(contents.tell),
            "confidential": list(contents.confidential),
            "copies": len(contents.copies),
            "order": list(contents.copies[0].columns),
            "warnings": [str(words) for words in contents.warnings],
            "gravities": [gravity_of(words).name for words in contents.warnings],
        }
    )
    frame = contents.copies[0][list(contents.tell)].copy()
    for number, copy in enumerate(contents.copies, 1):
        for name in contents.confidential:
            frame[_column(name, number, len(contents.copies))] = copy[name]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), MARK: described.model_dump_json().encode()}
    table = table.replace_schema_metadata(metadata)
    write_whole(path, lambda file: pq.write_table(table, file))


def is_masked(place: Path) -> bool:
    """Return whether a Parquet file holds masked records."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return MARK in (pq.read_schema(place).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _read(path: str | Path) -> MaskedFrame:
    """Return what a file of masked records holds.

    Raises:
        TableUnreadable: there is no such file, it is not one of masked records, or of a later
            version.
        StoreCorrupt: its columns are not those that it says it has.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = require_path(path)
    if not place.is_file():
        raise TableUnreadable(f"path {str(place)!r} must be a file that exists.", where="path")
    try:
        table = pq.read_table(place)
        described = _Described.model_validate_json((table.schema.metadata or {})[MARK])
    except (pa.ArrowException, OSError, KeyError, ValidationError):
        raise TableUnreadable(
            f"path {str(place)!r} must be a file that MaskedFrame.save wrote; it is not.",
            where="path",
        ) from None
    require_version(described.version, VERSION, place)
    try:
        copies = tuple(_copies(table.to_pandas(), described))
    except KeyError:
        raise StoreCorrupt(
            f"path {str(place)!r} lacks columns that it says it has.", where="path"
        ) from None
    return MaskedFrame(
        described.method,
        tuple(described.tell),
        tuple(described.confidential),
        copies,
        tuple(_cautions(described)),
    )


def _cautions(described: _Described) -> Iterator[str]:
    """Yield the warnings, with their gravity where it is known."""
    from pramana_core.mask.core.cautions import Caution, Gravity

    for place, words in enumerate(described.warnings):
        known = described.gravities[place : place + 1]
        yield Caution(words, Gravity[known[0]]) if known else words


def _copies(frame: pd.DataFrame, described: _Described) -> Sequence[pd.DataFrame]:
    found = []
    for number in range(1, described.copies + 1):
        copy = frame[described.tell].copy()
        for name in described.confidential:
            copy[name] = frame[_column(name, number, described.copies)]
        found.append(copy[described.order])
    return found


def _column(name: str, number: int, copies: int) -> str:
    return name if copies == 1 else f"{name}@{number}"


_WANTED = (
    "a list with one entry per copy: a number, a list of them, a dict or series by parameter, or a"
    " fitted model with params and bse"
)


@options_told
def combine_copies(
    estimates: Sequence[Any],
    errors: Sequence[Any] | None = None,
    *,
    records: int | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Put together what the same analysis gave on each masked copy.

    The estimate is the mean over the m copies; its variance is u + b/m, where u is the mean of the
    variances that each analysis states and b the variance between copies (Reiter 2003, for
    partially synthetic records). So the error counts what masking added.

    Args:
        estimates: one entry per copy, all of the same parameters: numbers, lists, dicts or series;
            or fitted models that have `params` and `bse`, such as those of statsmodels.
        errors: their standard errors in the same form; None where models are passed.
        records: the number of records, for intervals by Student's t; None for normal ones.
        level: the confidence of the intervals, above 0 and below 1.

    Returns:
        A row per parameter: `estimate`, `standard_error` (against the population), `low`, `high`,
        `p_value` of the test that it is 0, `freedom`, and `added`, the share of the variance that
        comes of masking.

    Raises:
        OptionError: entries of different parameters, errors that are negative or not there, no
            copies, or a level out of its range.

    Examples:
        >>> import pramana as pm
        >>> masked = pm.mask(pm.example("store"), ["debt"], method="egadp", copies=3, rng=1)
        >>> means = [copy["debt"].mean() for copy in masked.copies]
        >>> errors = [copy["debt"].sem() for copy in masked.copies]
        >>> pm.combine_copies(means, errors).columns.tolist()
        ['estimate', 'standard_error', 'low', 'high', 'p_value', 'freedom', 'added']
    """
    import pandas as pd

    from pramana_core.mask.copies import combine_copies as combine

    with one_sentence():
        require_limit(level, InnerShare, "level")
        require_limit(records, Annotated[int, Ge(1)] | None, "records")
    if errors is None:
        found = _entries(estimates, "estimates")
        if not all(hasattr(one, "params") and hasattr(one, "bse") for one in found):
            raise OptionError(
                "errors must be given, one entry per copy, unless estimates are models that have"
                " params and bse.",
                where="errors",
            )
        estimates, errors = [one.params for one in found], [one.bse for one in found]
    values, spreads = _table(estimates, "estimates"), _table(errors, "errors")
    if values.shape != spreads.shape or set(values.columns) != set(spreads.columns):
        raise OptionError(
            "errors must be of the same copies and parameters as estimates;"
            f" they are of {spreads.shape[0]} copies of {spreads.shape[1]} parameters, not"
            f" {values.shape[0]} of {values.shape[1]}.",
            where="errors",
        )
    spreads = spreads[values.columns]
    if bool((spreads < 0).any(axis=None)):
        raise OptionError("errors must be 0 or more; some are negative.", where="errors")
    with one_sentence():
        combined = combine(values.to_numpy(), spreads.to_numpy() ** 2, records)
        low, high = combined.interval(level)
    return pd.DataFrame(
        {
            "estimate": combined.estimate,
            "standard_error": combined.standard_error,
            "low": low,
            "high": high,
            "p_value": combined.p_value,
            "freedom": combined.freedom,
            "added": combined.added,
        },
        index=values.columns,
    )


def _entries(given: Any, argument: str) -> list[Any]:
    if not (isinstance(given, Sequence) or getattr(given, "ndim", False)) or isinstance(given, str):
        raise OptionError(f"{argument} must be {_WANTED}, not {shown(given)}.", where=argument)
    found = list(given)
    if not found:
        raise OptionError(f"{argument} must hold at least one copy, not none.", where=argument)
    return found


def _table(given: Any, argument: str) -> pd.DataFrame:
    """Return entries as a frame of numbers, a row per copy and a column per parameter."""
    import pandas as pd

    rows = [_row(one, argument) for one in _entries(given, argument)]
    names = list(rows[0])
    if any(set(row) != set(names) for row in rows):
        raise OptionError(
            f"{argument} must be of the same parameters in every copy; they differ.", where=argument
        )
    return pd.DataFrame(rows, columns=names)


def _row(one: Any, argument: str) -> dict[Any, float]:
    import numpy as np

    try:
        if isinstance(one, Mapping) or hasattr(one, "items"):
            return {name: float(value) for name, value in one.items()}
        return {k: float(v) for k, v in enumerate(np.atleast_1d(np.asarray(one, dtype=float)))}
    except (TypeError, ValueError):
        raise OptionError(
            f"{argument} must be {_WANTED}, not {shown(one)}.", where=argument
        ) from None

"""Masked records: what may leave, and what it keeps and gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.frames.sentences import listed, one_sentence
from pramana.masking.measuring import measured
from pramana.masking.recommending import Origin
from pramana.showing import card, plotted
from pramana_core.errors import OptionError

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
        from pramana.masking.files import write

        write(self, path)

    @classmethod
    def load(cls, path: str | Path) -> MaskedFrame:
        """Read masked records that `save` wrote; the true ones are not in a file.

        Raises:
            TableError: there is no such file, or it is not one of masked records.
        """
        from pramana.masking.files import read

        return cls(*read(path))

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

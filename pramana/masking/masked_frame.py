"""Masked records: what may leave, and what they keep and give away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pramana.frames.sentences import listed, one_sentence
from pramana.masking.columns import Columns
from pramana.showing import Drawn
from pramana_core.errors import OptionError
from pramana_core.mixed import MixedTable, read_mixed

if TYPE_CHECKING:
    import pandas as pd

    from pramana_core.mask.core.influence import Influence
    from pramana_core.mask.recommending import Recommendation
    from pramana_core.pictures.plots import Chart


def recommended(columns: Columns, seed: int) -> Recommendation:
    """Return the method that the relationships of a table call for."""
    from pramana_core.mask.recommending import recommend

    with one_sentence("frame"):
        return recommend(columns.s, columns.x, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Origin:
    """True records, and for each released row k the true row `order[k]`; `seed` is of measures."""

    columns: Columns
    order: npt.NDArray[np.intp]
    seed: int

    @cached_property
    def recommendation(self) -> Recommendation:
        """The method that the true records call for."""
        return recommended(self.columns, self.seed)

    def masked(self, released: pd.DataFrame) -> MixedTable:
        """Return the masked columns in the order of the true records."""
        chosen: Any = released[list(self.columns.confidential)].iloc[np.argsort(self.order)]
        return read_mixed(chosen, "frame")


@dataclass(frozen=True, eq=False, repr=False)
class MaskedFrame(Drawn):
    """Records whose confidential columns are masked; `pm.mask` makes them.

    Only `frame` may leave: the object also has the true records, for `measures`, `exposure`
    and `plot`, which draws their relationships above those of the masked ones.

    Attributes:
        method: the method that masked them.
        tell: the columns released as they are.
        confidential: the masked columns.
        frame: the told and the masked columns, n rows.
        origin: the true records.
        warnings: what one must know before this leaves, in sentences, the gravest first.
        details: what the method chose, by name; nothing in it is about one record.
        influence: each record's part in its own masked values (`exposure`); None for `sadp` and
            `cadp`, which add noise to the true values.

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
    frame: pd.DataFrame
    origin: Origin = field(repr=False)
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    influence: Influence | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def recommendation(self) -> Recommendation:
        """The method that the true records call for, with the evidence (`recommend_masking`)."""
        return self.origin.recommendation

    @cached_property
    def _measures(self) -> pd.DataFrame:
        import pandas as pd

        from pramana_core.mask.measures import measure_all
        from pramana_core.terminal import progress_bar

        columns, rng = self.origin.columns, np.random.default_rng(self.origin.seed)
        with progress_bar("measuring") as bar, one_sentence("frame"):
            masked = self.origin.masked(self.frame)
            found = measure_all(
                columns.s, columns.x, masked, rng=rng, on_step=bar, influence=self.influence
            )
        names = {"name": "measure", "error": "standard_error"}
        shown = ["group", "measure", "about", "value", "standard_error", "sentence"]
        frame = pd.DataFrame([asdict(row) for row in found]).rename(columns=names)
        return frame.astype({"standard_error": float})[shown]

    def measures(self) -> pd.DataFrame:
        """Return what the masked records keep and give away, a row per measure.

        Columns: `group`, utility or security; `measure`; `about`, the columns it is about; `value`;
        `standard_error`, NaN if there is none; `sentence`, what the value means.
        """
        return self._measures.copy()

    def exposure(self) -> pd.DataFrame:
        """Return how much of each record's masked value is its own, a row per record, most first.

        The index is that of the true records, so the frame must not leave. Of several confidential
        columns a row is about the most exposed `column`. `own_weight`: how much the masked value
        moves with the true one, at the chosen fit. `noise`: the standard deviation of the noise, in
        those of what S leaves of the column. `told`: the share of what S leaves of such a record
        that its masked value reveals to whoever knows all others, w^2 / (w^2 + noise^2). `named`:
        whether that is above a quarter, which is warned of.

        Raises OptionError for a method that adds noise to the true values and predicts nothing.
        """
        import pandas as pd

        found = self.influence
        if found is None:
            raise OptionError(
                f"exposure is of methods that predict; {self.method} adds noise to the true values"
                " themselves.",
                where="exposure",
            )
        frame = pd.DataFrame(
            {
                "column": [self.confidential[place] for place in found.columns],
                "own_weight": found.own,
                "noise": found.noise,
                "told": found.told,
                "named": found.exposed,
            },
            index=self.origin.columns.table.index,
        )
        return frame.iloc[found.order]

    def _picture(self) -> Chart:
        from pramana_core.mask.pictures import pairs_to_show, relationships_chart

        s, x = self.origin.columns.s, self.origin.columns.x
        masked = s.beside(self.origin.masked(self.frame))
        versions = [("true", s.beside(x)), (f"masked by {self.method}", masked)]
        return relationships_chart(versions, pairs_to_show(s, x))

    def _notes(self) -> tuple[str, ...]:
        above = "Above are true values, below masked ones: the picture must not leave."
        return (*self.warnings, above)

    def _numbers(self) -> pd.DataFrame:
        return self.frame

    def __reduce__(self) -> Any:
        """Refuse pickling and copying, which would hold the true records."""
        raise OptionError(
            "A MaskedFrame must not be pickled, for it holds the true records; its frame may be.",
            where="MaskedFrame",
        )

    def __repr__(self) -> str:
        from pramana_core.mask.core.cautions import Gravity, gravity_of

        grave = sum(gravity_of(words) == Gravity.GRAVE for words in self.warnings)
        doubt = f"; warnings: {len(self.warnings)}, {grave} grave" if self.warnings else ""
        return (
            f"MaskedFrame({len(self):,} records by {self.method};"
            f" masked: {listed(self.confidential)}; told: {listed(self.tell) or 'nothing'}{doubt})"
        )

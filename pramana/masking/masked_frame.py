"""Masked records, and measures of how useful and how revealing they are."""

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
    """Return the masking method that suits the relationships in a table."""
    from pramana_core.mask.recommending import recommend

    with one_sentence("frame"):
        return recommend(columns.s, columns.x, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Origin:
    """The true records. Released row k is true row `order[k]`; `seed` seeds the measures' draws."""

    columns: Columns
    order: npt.NDArray[np.intp]
    seed: int

    @cached_property
    def recommendation(self) -> Recommendation:
        """The recommended method for the true records."""
        return recommended(self.columns, self.seed)

    def masked(self, released: pd.DataFrame) -> MixedTable:
        """Return the masked columns in the order of the true records."""
        chosen: Any = released[list(self.columns.confidential)].iloc[np.argsort(self.order)]
        return read_mixed(chosen, "frame")


@dataclass(frozen=True, eq=False, repr=False)
class MaskedFrame(Drawn):
    """Records with masked confidential columns, as `pm.mask` returns them.

    Release only `frame`. The object also contains the true records, which `measures`, `exposure`
    and `plot` need; `plot` draws the true relationships above the masked ones.

    Attributes:
        method: the masking method.
        tell: the columns released unchanged.
        confidential: the masked columns.
        frame: the unchanged and the masked columns, n rows.
        origin: the true records.
        warnings: sentences to read before a release, the most serious first.
        details: the settings that the method chose, by name; none of them depends on a single
            record.
        influence: the weight of each record's true values in its masked values (see `exposure`);
            None for `sadp` and `cadp`, which add noise to the true values.

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
        """The recommended method for the true records, with the evidence (`recommend_masking`)."""
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
        """Return measures of what the masked records preserve and reveal, one row each.

        Columns: `group`, utility or security; `measure`; `about`, the columns measured; `value`;
        `standard_error`, NaN if unknown; `sentence`, an interpretation of the value.
        """
        return self._measures.copy()

    def exposure(self) -> pd.DataFrame:
        """Return the influence of each record on its own masked value, largest first.

        The index is that of the true records, so do not release the result. Each row is about the
        record's most exposed `column`. `own_weight`, w: the change of the masked value per unit of
        change of the true value, for the chosen fit. `noise`: the standard deviation of the noise,
        in residual standard deviations of the column given S. `told`: w^2 / (w^2 + noise^2), the
        share of the residual that the masked value reveals to someone who knows all other records.
        `named`: whether `told` is above 0.25, which causes a warning.

        Raises OptionError for a method that adds noise to the true values.
        """
        import pandas as pd

        found = self.influence
        if found is None:
            raise OptionError(
                f"exposure is defined only for methods that predict masked values; {self.method}"
                " adds noise to the true values.",
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
        above = "True values are above, masked values below: do not release the picture."
        return (*self.warnings, above)

    def _numbers(self) -> pd.DataFrame:
        return self.frame

    def __reduce__(self) -> Any:
        """Raise an error, since a pickle or copy would include the true records."""
        raise OptionError(
            "A MaskedFrame contains the true records, so pickle its attribute frame instead.",
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

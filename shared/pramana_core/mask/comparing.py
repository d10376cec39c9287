"""All masking methods on one table, at equal disclosure risk where a method has a dial for it.

Also here:

* How much additive noise gives a snooper a chosen gain: methods are compared at equal risk.
* PRAM reports by the measures of masking: what randomized records give away, and what they keep.
* The few measures that a comparison shows of each method, out of all that are taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pramana_core.errors import MissingColumn, OptionError, PramanaError, TableError
from pramana_core.kernel_regression.fitting import fit_kernel
from pramana_core.kernel_regression.options import KernelOptions
from pramana_core.mask.catalogue import METHODS
from pramana_core.mask.core.inputs import Inputs, inputs
from pramana_core.mask.core.masked import Method, method_of
from pramana_core.mask.core.noise import Randomness
from pramana_core.mask.measures import measure_all
from pramana_core.mask.measures.compared import Measure, Measures, TrueFits
from pramana_core.mixed import (
    CategoricalColumn,
    Column,
    Floats,
    MixedTable,
    NumericColumn,
    read_mixed,
)
from pramana_core.plan import Plan
from pramana_core.progress import Progress, unwatched

if TYPE_CHECKING:
    import pandas as pd

Group = Literal["utility", "security"]
Reduce = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class ShownColumn:
    """A column of the comparison.

    Attributes:
        name: its heading.
        group: whether it is about use or about what is given away.
        measure: the measure that it shows.
        given: of which models, by what they predict from: "S" or "others"; None for measures that
            are of no model.
        reduce: what makes one number of those of several columns of X.
        words: what it says, and which value is best.
    """

    name: str
    group: Group
    measure: str
    given: Literal["S", "others"] | None
    reduce: Reduce
    words: str


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


COLUMNS: tuple[ShownColumn, ...] = (
    ShownColumn(
        "line slope",
        "utility",
        "relationship-slope-linear",
        "S",
        _mean,
        "How far fitted lines over S rise in the masked table where they rise by 1 in the true"
        " one; 1 is right. The mean over X; NaN where there are no such lines.",
    ),
    ShownColumn(
        "curve slope",
        "utility",
        "relationship-slope-kernel",
        "S",
        _mean,
        "The same of kernel fits over S.",
    ),
    ShownColumn(
        "curve R2",
        "utility",
        "relationship-r2-kernel",
        "S",
        _mean,
        "How closely kernel fits over S follow those of the true table; 1 is right.",
    ),
    ShownColumn(
        "error given S",
        "utility",
        "mse-ratio-kernel",
        "S",
        max,
        "Squared errors on true records of a kernel model over S that was learned on the masked"
        " table, over those of one learned on the true table; 1 is right. The worst of X.",
    ),
    ShownColumn(
        "error given all others",
        "utility",
        "mse-ratio-kernel",
        "others",
        max,
        "The same of models over S and the other columns of X.",
    ),
    ShownColumn(
        "correlation moved",
        "utility",
        "pearson-largest",
        None,
        max,
        "How far the Pearson correlation that moved most did; 0 is right.",
    ),
    ShownColumn(
        "distribution moved",
        "utility",
        "distribution-distance",
        None,
        max,
        "The Kolmogorov-Smirnov distance of masked from true columns; 0 is right. The worst of X.",
    ),
    ShownColumn(
        "kernel gain",
        "security",
        "snooper-gain-kernel",
        None,
        _mean,
        "How much more of X a snooper with curves of any shape explains from S and Y than from S"
        " alone; 0 is safe, and negative numbers are chance. The mean over X.",
    ),
    ShownColumn(
        "linear gain",
        "security",
        "snooper-gain-linear",
        None,
        _mean,
        "The same of a snooper who knows the curves of X over S and has straight lines over what Y"
        " adds.",
    ),
    ShownColumn(
        "canonical correlation",
        "security",
        "canonical-correlation",
        None,
        max,
        "The largest of X with Y beyond curves in S; 0 is safe, and chance leaves some.",
    ),
    ShownColumn(
        "security index",
        "security",
        "security-index",
        None,
        min,
        "The share of the most exposed combination of X that stays unknown given Y and curves over"
        " S; compare the methods, for S alone leaves less than 1 unknown.",
    ),
    ShownColumn(
        "linked",
        "security",
        "linkage-among-alike",
        None,
        max,
        "How often Y points to the right one of ten people alike in S; a tenth is guessing.",
    ),
    ShownColumn(
        "near true values",
        "security",
        "near-true-values",
        None,
        max,
        "Records whose masked value is within 1 % of a standard deviation of their own true one;"
        " about 6 of 1,000 are chance where S tells little.",
    ),
)
"""What a comparison shows, utility before security."""


@dataclass(frozen=True)
class ColumnScore:
    """A column's number for one method.

    Attributes:
        value: the number, the mean over repetitions; NaN where it does not exist.
        error: its standard error: over repetitions of the masking if there are several (the table
            stays the same); of one repetition the measure's own, over records, where it has one
            and no other column of X shares the number.
    """

    value: float
    error: float | None


def shown(column: ShownColumn, runs: Sequence[Measures], told: Sequence[str]) -> ColumnScore:
    """Return a column's number of the measures of one or more repetitions."""
    found = [list(_of(column, run, told)) for run in runs]
    values = [_reduced(column, rows) for rows in found]
    if any(math.isnan(value) for value in values):
        return ColumnScore(math.nan, None)
    if len(values) > 1:
        return ColumnScore(
            float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
        )
    only = found[0]
    return ColumnScore(values[0], only[0].error if len(only) == 1 else None)


def _reduced(column: ShownColumn, rows: Sequence[Measure]) -> float:
    values = [row.value for row in rows if not math.isnan(row.value)]
    return float(column.reduce(values)) if values else math.nan


def _of(column: ShownColumn, run: Measures, told: Sequence[str]) -> Iterable[Measure]:
    """Yield the measures of a column; of models, those given all of S or given all others."""
    rows = run.named(column.measure)
    if column.given is None:
        yield from rows
        return
    for row in rows:
        used = row.about.partition(" given ")[2].split(", ")
        if set(used) <= set(told) if column.given == "S" else not set(used) <= set(told):
            yield row


# How much additive noise gives a snooper a chosen gain: methods are compared at equal risk.

Snooper = Literal["lines-only", "kernel"]

LANDMARKS = 200
MOST_RECORDS = 5000
HALVINGS = 100

LEAST, MOST = 1e-6, 1e6
"""Between which shares of variance noise is sought; also what the methods take."""


def expected_gain(method: str, noise: float, rest: Floats, whole: Floats) -> float:
    """Return a snooper's gain by the released values of a method of additive noise.

    With S known, R is the covariance of what S does not tell of X, C that of X, and N that of the
    noise: noise * diag(C) for SADP and noise * C for CADP. The best linear prediction of X from S
    and Y then explains, of column j, the share (R (R + N)^-1 R)_jj / C_jj more than S alone. The
    gain is its mean over the columns.

    Args:
        method: "sadp" or "cadp".
        noise: the variance of the noise as a share of X's.
        rest: R, q x q.
        whole: C, q x q.
    """
    added = noise * (np.diag(np.diag(whole)) if method == "sadp" else whole)
    explained = rest @ np.linalg.pinv(rest + added, hermitian=True) @ rest
    return float(np.mean(np.diag(explained) / np.diag(whole)))


def noise_for_gain(
    method: str,
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    gain: float,
    rng: Randomness,
    *,
    snooper: Snooper = "kernel",
) -> float:
    """Return the `noise` of SADP or CADP with which a snooper gains a chosen share of R2.

    Args:
        method: "sadp" or "cadp".
        S, X: as of `inputs`.
        gain: how much more of X's variance S and Y explain than S alone, the mean over columns.
        rng: draws the records that the kernel is made of.
        snooper: whether S's part is taken out by a line or by a kernel fit.

    Returns:
        The variance of the noise as a share of each column's.

    Raises:
        OptionError: no noise gives this gain; another method has no noise to choose.
        TableError, MaskingError: see `inputs`.
    """
    if method not in ("sadp", "cadp"):
        raise OptionError(f"Method {method!r} has no noise to choose.", where="method")
    given = inputs(S, X)
    whole = np.cov(given.standard, rowvar=False, ddof=0).reshape(given.columns, given.columns)
    rest = unexplained(given, rng, snooper)
    return _solved(lambda noise: expected_gain(method, noise, rest, whole), gain)


def most_gain(given: Inputs, rng: Randomness, snooper: Snooper = "kernel") -> float:
    """Return what a snooper gains by X itself: the mean share of it that S does not tell."""
    return float(np.mean(np.diag(unexplained(given, rng, snooper))))


def unexplained(given: Inputs, rng: Randomness, snooper: Snooper) -> Floats:
    """Return the covariance of what S does not tell of the standardized X: q x q."""
    rest = given.standard_residuals
    if snooper == "kernel" and given.told.shape[1]:
        chosen = np.arange(given.records)
        if given.records > MOST_RECORDS:
            chosen = rng.permutation(given.records)[:MOST_RECORDS]
        target = given.standard[chosen]
        fit = fit_kernel(given.told[chosen], target, KernelOptions(landmarks=LANDMARKS), rng)
        rest = target - fit.left_out
    found: Floats = rest.T @ rest / len(rest)
    return found


def _solved(gain_of: Callable[[float], float], gain: float) -> float:
    """Return the noise with a gain, by halving the interval of its logarithm."""
    low, high = np.log(LEAST), np.log(MOST)
    if not gain_of(MOST) < gain < gain_of(LEAST):
        raise OptionError(
            f"A gain of {gain:g} cannot be reached by noise; it must lie between"
            f" {gain_of(MOST):.2g} and {gain_of(LEAST):.3f}.",
            where="gain",
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if gain_of(float(np.exp(middle))) > gain else (low, middle)
    return float(np.exp((low + high) / 2))


GAIN = 0.05
"""How much of X's variance noise may tell beyond S, unless told otherwise."""

TUNED = ("sadp", "cadp")
"""The methods whose disclosure is a matter of choice, by the option `noise`."""

MOST_REPEATS = 100


@dataclass(frozen=True)
class MethodRow:
    """One method on the table.

    Attributes:
        method: the method and what it promises.
        options: those that were chosen here, such as the noise.
        values: the numbers by their column's name; empty if the method failed.
        measures: all measures of each repetition.
        failure: why the method cannot mask this table; None if it can.
    """

    method: Method
    options: Mapping[str, Any]
    values: Mapping[str, ColumnScore]
    measures: tuple[Measures, ...]
    failure: str | None = None


@dataclass(frozen=True)
class MethodComparison:
    """Methods side by side.

    Attributes:
        rows: one for each method.
        columns: what is shown of each, with words.
        gain: what the noise of SADP and CADP was tuned to.
        snooper: whose gain that is, "lines-only" or "kernel".
        records: n.
        repeats: how often each method masked the table.
        notes: sentences on what was tuned and what not.
    """

    rows: tuple[MethodRow, ...]
    columns: tuple[ShownColumn, ...]
    gain: float
    snooper: Snooper
    records: int
    repeats: int
    notes: tuple[str, ...]

    def __getitem__(self, method: str) -> MethodRow:
        """Return a method's row. Raises OptionError."""
        for row in self.rows:
            if row.method.name == method:
                return row
        names = ", ".join(row.method.name for row in self.rows)
        raise OptionError(f"{method!r} was not compared; there are {names}.", where="method")

    def frame(self, *, errors: bool = False) -> pd.DataFrame:
        """Return a frame with a row for each method, its index, and a column for each number.

        Args:
            errors: put each number's standard error beside it, NaN where there is none.
        """
        import pandas as pd

        found = []
        for row in self.rows:
            line: dict[str, Any] = {}
            for column in self.columns:
                number = row.values.get(column.name, ColumnScore(float("nan"), None))
                line[column.name] = number.value
                if errors:
                    line[f"{column.name} error"] = (
                        float("nan") if number.error is None else number.error
                    )
            line |= {
                "noise": row.options.get("noise", float("nan")),
                "true values": row.method.released_values,
                "exact moments": row.method.exact_moments,
                "independent given S": row.method.independent,
                "failure": row.failure or "",
            }
            found.append(line)
        names = [row.method.name for row in self.rows]
        return pd.DataFrame(found, index=pd.Index(names, name="method"))


def compare(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    rng: Randomness,
    methods: Sequence[str] | None = None,
    gain: float | None = None,
    *,
    snooper: Snooper = "kernel",
    repeats: int = 1,
    on_step: Progress = unwatched,
) -> MethodComparison:
    """Mask a table by several methods and measure each alike.

    SADP and CADP reveal as much as their noise is small. Here it is chosen so that a snooper gains
    a given share of X's variance by it (`noise_for_gain`). The other methods have no such dial: a
    snooper gains nothing by those that are independent given S, and what he gains by others is
    reported as it is.

    Args:
        S, X: as of `inputs`.
        rng: masks, and draws folds and landmarks of the measures.
        methods: names of METHODS; None for all.
        gain: the share of X's variance that noise tells beyond S, the mean over columns, above 0;
            None for .05, or half of what S leaves if that is less.
        snooper: whose gain: one who knows the curves of X over S ("kernel"), or one who has
            straight lines and nothing else ("lines-only"). The relation of X to S, which is
            released on purpose, is a gain to the latter where it is curved.
        repeats: how often each method masks the table, 1 to 100.
        on_step: told of each method and repetition that is done.

    Raises:
        OptionError: an unknown method, a number of repeats that is out of range, or a gain that no
            noise gives.
        TableError, MaskingError: see `inputs`; what a single method cannot do is in its row.
    """
    given = inputs(S, X)
    chosen = [method_of(name, METHODS) for name in (METHODS if methods is None else methods)]
    if not 1 <= repeats <= MOST_REPEATS:
        raise OptionError(f"repeats must be 1 to {MOST_REPEATS}, not {repeats}.", where="repeats")
    if gain is None:
        gain = min(GAIN, most_gain(given, rng, snooper) / 2)
    total, done = len(chosen) * repeats, 0

    def step() -> None:
        nonlocal done
        done += 1
        on_step(done, total)

    fits = TrueFits()
    rows = []
    for place, method in enumerate(chosen):
        options: dict[str, Any] = {}
        if method.name in TUNED:
            options["noise"] = noise_for_gain(method.name, S, X, gain, rng, snooper=snooper)
        rows.append(_row(method, options, S, X, rng, repeats, fits, step))
        while done < (place + 1) * repeats:
            step()
    means = "straight lines alone" if snooper == "lines-only" else "kernels"
    tuned = (
        f"The noise of {' and '.join(TUNED)} is such that a snooper by {means} explains"
        f" {gain:.3g} more of X's variance, the mean over columns, than by S alone."
    )
    others = "The other methods have no such dial; their gains are as measured."
    notes = (tuned, others)
    return MethodComparison(tuple(rows), COLUMNS, gain, snooper, given.records, repeats, notes)


def _row(
    method: Method,
    options: Mapping[str, Any],
    S: Any,  # noqa: N803
    X: Any,  # noqa: N803
    rng: Randomness,
    repeats: int,
    fits: TrueFits,
    step: Callable[[], None],
) -> MethodRow:
    """Mask and measure a table by one method."""
    runs = []
    for _ in range(repeats):
        try:
            masked = method(S, X, rng, **options)
        except PramanaError as error:
            return MethodRow(method, options, {}, (), str(error))
        runs.append(measure_all(S, X, masked.values, rng=rng, brief=True, fits=fits))
        step()
    told = inputs(S, X).s.names
    values = {column.name: shown(column, runs, told) for column in COLUMNS}
    return MethodRow(method, options, values, tuple(runs))


# PRAM reports by the measures of masking: what randomized records give away, and what they keep.
#
# A randomized record is told apart from a masked one by its bound: the plan says what one record
# tells at most (gamma), whatever the table is. The measures answer another question, for this
# table: what S and the reports together tell of X on average, and what an analyst finds who takes
# reports as they are. Estimates from a plan's inverted counts are not what is measured; they are
# without that bias, and their errors are those of `pramana_core.estimation`.

RAW = (
    "Usefulness is that of raw reports, taken as if they were true: what is estimated from inverted"
    " counts is not weakened so, but has larger errors."
)

BOUND = "These are averages over this table; what one record tells at most is the plan's gamma."


def measure_reports(
    S: Any,  # noqa: N803 - the papers' names
    X: Any,  # noqa: N803
    plan: Plan,
    reports: Mapping[str, npt.ArrayLike],
    *,
    rng: Randomness,
    on_step: Progress = unwatched,
    brief: bool = True,
) -> Measures:
    """Measure randomized records as masked ones are measured.

    Args:
        S: columns that everybody knows, n x p numbers or a frame; None for none. They are not
            part of the plan.
        X: the true columns that were randomized, before they were discretized: a frame whose
            columns have the names of the plan's variables; numbers or categories.
        plan: what was done. Variables of numbers have representatives, by which their reports are
            read as numbers.
        reports: the reported codes of each column of X, n integers each.
        rng: draws folds and landmarks.
        on_step: told of each step; may raise to stop.
        brief: measure models given all of S and given all others alone.

    Returns:
        The measures; `notes` say what they are not.

    Raises:
        UnknownVariable: a column of X is no variable of the plan.
        MissingColumn: a column of X has no reports.
        OptionError: a variable is reported in other categories than its own, or not at all, or a
            variable of numbers has no representatives.
        TableError: codes of another number of records, or that are none of the plan's.
        MaskingError: see `measure_all`.
    """
    table = read_mixed(X, "X")
    released = tuple(_released(column, plan, reports) for column in table.columns)
    reported = MixedTable(released, len(released[0]) if released else table.records)
    found = measure_all(S, table, reported, rng=rng, on_step=on_step, brief=brief)
    return replace(found, notes=(*found.notes, RAW, BOUND))


def _released(column: Column, plan: Plan, reports: Mapping[str, npt.ArrayLike]) -> Column:
    """Return a column's reports as a column of its own kind."""
    name = column.name
    variable = plan.domain[name]
    if name not in reports:
        raise MissingColumn(f"Column {name!r} has no reports.", where=name)
    if plan.reported_sizes[name] != variable.size:
        raise OptionError(
            f"Variable {name!r} is reported in {plan.reported_sizes[name]} categories and has"
            f" {variable.size}; such reports are no values of it.",
            where=name,
            remedy="Measure variables whose channel reports their own categories.",
        )
    codes = np.asarray(reports[name])
    if codes.dtype.kind not in "iu" or np.any((codes < 0) | (codes >= variable.size)):
        raise TableError(
            f"The reports of {name!r} must be codes 0 to {variable.size - 1}.", where=name
        )
    if isinstance(column, CategoricalColumn):
        return CategoricalColumn(name, codes.astype(np.intp), variable.categories)
    if variable.representatives is None:
        raise OptionError(
            f"Variable {name!r} has no representatives, so its reports are no numbers.",
            where=name,
            remedy="Discretize the column (`Discretization.variable`) or pass it as categories.",
        )
    return NumericColumn(name, np.array(variable.representatives)[codes])

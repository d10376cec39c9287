"""FRAPP figures 1 and 2, errors of frequent itemsets with our plan beside them; and equation 9, the
bound on these errors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from benchmarks.reproduce.engine import Axes, Experiment, Figure, Finding, Result, Setting, bars
from benchmarks.reproduce.frapp import mechanisms as say
from benchmarks.reproduce.frapp.data import (
    CENSUS_FILES,
    CLOSED_LEFT,
    GAMMA,
    HEALTH_FILES,
    Survey,
    by_length,
    census,
    health,
)
from benchmarks.reproduce.frapp.mechanisms import (
    APRIORI,
    DIRECT,
    QUICK_RUNS,
    RUNS,
    Mechanism,
    designed,
    independent_columns,
    measure,
    papers_mechanisms,
    summary,
    with_our_estimator,
)
from pramana.setups import SeededOwner
from pramana.simulate.itemsets import MEASURES
from pramana_core.channels import (
    CONDITION_LIMIT,
    RESOLUTION,
    CutAndPaste,
    OneHot,
    Symmetric,
    Transition,
)
from pramana_core.errors import PlanError
from pramana_core.learn.rules.itemsets import all_items
from pramana_core.marginals.counts import ReportedCounts, Tensor
from pramana_core.marginals.support_counts import Item
from pramana_core.pictures import plots as style
from pramana_core.plan import Block

_DESIGN_SHARE = 0.1
"""The share of the progress bar that the designer has."""

LEVEL_BY_LEVEL = (
    "All mechanisms are mined by Apriori, as in the paper: an itemset is looked at only if its"
    " subsets were found frequent, and the support error is over the itemsets rightly found."
)
MASK_INVERSE = (
    "MASK's supports are estimated by a least-squares left inverse of each variable's one-hot"
    " channel, which is at least as accurate as the 2 x 2 inverses per item of its paper."
)
PASTED = (
    "C&P stands twice: with the smallest rho of gamma 19 that our exact amplification gives for"
    " K = 3, and with the paper's rho. Of the itemsets longer than K its reports tell nothing."
)
DESIGNER = (
    "The designed plan is the designer's choice for itemsets of all lengths at equal gamma, from"
    " uniform reference distributions: it has not seen the data."
)


def mine(setting: Setting, label: str, survey: Survey, mask_finds: int) -> Result:
    """Mine a survey under every mechanism and compare with the paper.

    Args:
        setting: seed, extent and progress.
        label: names the keys.
        survey: the records.
        mask_finds: the longest itemsets that MASK finds according to the paper.
    """
    first, rest = setting.part(0.0, _DESIGN_SHARE), setting.part(_DESIGN_SHARE, 1.0)
    choice, compared = designed(survey.domain, survey.records, first.progress)
    mechanisms = _mechanisms(survey, choice, quick=setting.quick)
    runs = measure(rest, label, survey, mechanisms)
    means, direct = summary(runs), summary(runs, DIRECT)
    findings = (
        say.table(means, runs["run"].nunique()),
        *(say.better(means, rival) for rival in ("MASK", "C&P")),
        *(say.degrades(means, rival) for rival in ("MASK", "C&P")),
        say.longest(means, "MASK", mask_finds),
        say.longest(means, "C&P", 3),
        say.same_law(runs[runs["mining"] == APRIORI]),
        say.printed_rho(mechanisms),
        say.designers_choice(compared),
        say.ratio(means, choice.name),
        *(say.directly(direct, name) for name in ("DET-GD", "independent", choice.name)),
    )
    return Result(
        {"means": means, "direct": direct, "runs": runs},
        findings,
        lambda figure: _draw(figure, means, choice.name),
        height=5.6,
        facts={"gamma": {m.name: m.gamma for m in mechanisms}, "designed": choice.name},
    )


def _mechanisms(survey: Survey, choice: Mechanism, *, quick: bool) -> list[Mechanism]:
    papers, alone = papers_mechanisms(survey.domain), independent_columns(survey.domain)
    made = [*papers, alone, choice]
    return made if quick else [*made, with_our_estimator(papers[0]), with_our_estimator(alone)]


_LINES = {
    "DET-GD": (style.BLUE, "o", "-"),
    "RAN-GD": (style.SKY, "s", "--"),
    "MASK": (style.RED, "^", "-"),
    "C&P": (style.PURPLE, "D", "-"),
    "independent": (style.ORANGE, "v", "-"),
    "DET-GD*": (style.BLUE, "o", ":"),
    "independent*": (style.ORANGE, "v", ":"),
}


def _draw(figure: Figure, means: pd.DataFrame, designed_name: str) -> None:
    panels = figure.subplots(1, 3)
    lines = _LINES | {designed_name: (style.GREEN, "*", "-")}
    titles = ("(a) support error", "(b) false negatives", "(c) false positives")
    for axis, measured, title in zip(panels, MEASURES, titles, strict=True):
        for name, (colour, marker, dash) in lines.items():
            own = means[means["mechanism"] == name]
            _line(axis, own, measured, name, (colour, marker, dash))
        axis.set(title=title, xlabel="itemset length", xticks=sorted(set(means["length"])))
    panels[0].set(ylabel="percent", yscale="log")
    panels[0].yaxis.set_major_formatter("{x:g}")
    for axis in panels[1:]:
        axis.set_ylim(-3, max(105, axis.get_ylim()[1]))
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize=9
    )


def _line(
    axis: Axes, own: pd.DataFrame, measured: str, name: str, look: tuple[str, str, str]
) -> None:
    if own.empty:
        return
    colour, marker, dash = look
    error, label = own[f"{measured}_se"].fillna(0.0), name.replace("*", ", log-linear")
    size = 10 if marker == "*" else 5
    bars(axis, own["length"], own[measured], error, colour, marker, label, dash, capsize=2,
         markersize=size)  # fmt: skip


TRIAL_ERROR = (2.9, 6.7, 8.0, 7.6, 7.2, 7.0)
TRIAL_NEGATIVES, TRIAL_POSITIVES, TRIAL_RUNS = 7.0, 8.0, 8
"""A trial with sampled pairs and plain maximum likelihood, in percent: what is to be reached."""

WHOLE_TABLE = (
    "The log-linear model gives no table of more than 4,096 cells, and HEALTH has 7,500: of"
    " itemsets of all seven variables nothing is found through it."
)


def mine_census(setting: Setting) -> Result:
    """Mine CENSUS under every mechanism; compare with the paper and with the trial."""
    result = mine(setting, "frapp-census", census(setting), mask_finds=4)
    means, runs = result.tables["means"], result.tables["runs"]
    ours = means[means["mechanism"] == result.facts["designed"]]
    return replace(
        result, findings=(*result.findings, *against_trial(ours, int(runs["run"].nunique())))
    )


def mine_health(setting: Setting) -> Result:
    """Mine the user's table under every mechanism and count its frequent itemsets."""
    survey = health(setting)
    result = mine(setting, "frapp-health", survey, mask_finds=5)
    return replace(result, findings=(*by_length(survey), *result.findings))


def against_trial(ours: pd.DataFrame, runs: int) -> tuple[Finding, Finding]:
    """Compare means of some runs with the trial's, which are means too.

    Args:
        ours: a row per length, with the columns of `summary`.
        runs: how many runs the means are of.
    """
    # The trial's means are of 8 runs that vary as ours do.
    noise = ours["support_error_se"].to_numpy() * np.sqrt(1 + runs / TRIAL_RUNS)
    larger = ours["support_error"].to_numpy() > np.array(TRIAL_ERROR) + 3 * noise
    lengths = ", ".join(str(k) for k in ours["length"][larger])
    errors = " ".join(f"{e:.1f}" for e in ours["support_error"])
    negatives, positives = ours["false_negatives"].max(), ours["false_positives"].max()
    kept = negatives <= TRIAL_NEGATIVES and positives <= TRIAL_POSITIVES
    return (
        Finding(
            None,
            f"The designed plan's support errors {errors} % {'miss' if lengths else 'reach'} the"
            f" trial's {' '.join(f'{e:.1f}' for e in TRIAL_ERROR)} %"
            + (f" at length {lengths}" if lengths else "")
            + " (up to three standard errors of the difference).",
        ),
        Finding(
            None,
            f"Its false negatives are at most {negatives:.1f} % and its false positives at most"
            f" {positives:.1f} %, {'as' if kept else 'not as'} in the trial ({TRIAL_NEGATIVES:g}"
            f" and {TRIAL_POSITIVES:g} %).",
        ),
    )


CENSUS = Experiment(
    name="frapp-census",
    title="Errors of frequent itemsets on CENSUS, mechanism by mechanism",
    source="FRAPP (2005), figure 1",
    run=mine_census,
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT, LEVEL_BY_LEVEL, MASK_INVERSE, PASTED, DESIGNER),
)

HEALTH = Experiment(
    name="frapp-health",
    title="Errors of frequent itemsets on HEALTH, mechanism by mechanism",
    source="FRAPP (2005), figure 2",
    run=mine_health,
    needs_data=HEALTH_FILES,
    choices=(LEVEL_BY_LEVEL, MASK_INVERSE, PASTED, DESIGNER, WHOLE_TABLE),
)


DIAGONAL, BITWISE = ("DET-GD", "RAN-GD"), ("MASK", "C&P")
"""The mechanisms that randomize whole records, and those that randomize items."""

_Bits = npt.NDArray[np.int64]


@dataclass(frozen=True)
class System:
    """The equations Y = A X of one table, solved.

    Args:
        truth: X, the true counts.
        expected: E(Y) = A X.
        reports: Y.
        estimate: X^, the solution for Y.
        condition: A's in the 2-norm, the largest singular value over the smallest.
        eigenvalues: the largest eigenvalue over the smallest, in absolute value.
    """

    truth: Tensor
    expected: Tensor
    reports: Tensor
    estimate: Tensor
    condition: float
    eigenvalues: float

    @classmethod
    def of(cls, matrix: Tensor, truth: Tensor, reports: Tensor) -> System | None:
        """Solve the equations of a listed matrix; None if it has no inverse."""
        condition = float(np.linalg.cond(matrix))
        if condition > CONDITION_LIMIT:
            return None
        sizes = np.abs(np.linalg.eigvals(matrix))
        estimate: Tensor = np.linalg.solve(matrix, reports).astype(np.float64)
        return cls(
            truth, matrix @ truth, reports, estimate, condition, float(sizes.max() / sizes.min())
        )

    @property
    def error(self) -> float:
        """The left side of equation 9, ||X^ - X|| / ||X||."""
        return norm(self.estimate - self.truth) / norm(self.truth)

    @property
    def deviation(self) -> float:
        """The reports' own relative error, ||Y - E(Y)|| / ||E(Y)||."""
        return norm(self.reports - self.expected) / norm(self.expected)


def systems(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts
) -> Iterator[tuple[int, System]]:
    """Return by itemset length the equations that the paper's estimator solves.

    DET-GD and RAN-GD: a table of all categories for every set of variables (FRAPP eq. 28). MASK: a
    table of the 2^k patterns of the items of every frequent itemset. C&P: the counts of records
    with 0 to k of its items. Where there is no inverse there is nothing.
    """
    if mechanism.name in DIAGONAL:
        yield from of_tables(mechanism, survey, reported)
        return
    items = all_items(survey.domain)
    for itemset in survey.itemsets:
        made = _of_items(mechanism, survey, reported, [items[place] for place in itemset])
        if made is not None:
            yield len(itemset), made


def of_tables(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts
) -> Iterator[tuple[int, System]]:
    """Return by length the equations of every set of variables, that of all last."""
    exact = ReportedCounts(survey.codes, {v.name: v.size for v in survey.domain})
    (block,) = mechanism.plan.blocks
    for length in range(1, len(survey.domain) + 1):
        for names in itertools.combinations(survey.domain.names, length):
            channel = _restricted(block, names)
            truth, reports = (c.table(names).ravel().astype(np.float64) for c in (exact, reported))
            expected, estimate = channel.apply(truth, 0), channel.solve(reports, 0)
            c = channel.condition_number  # the matrix is symmetric
            yield length, System(truth, expected, reports, estimate, c, c)


def _of_items(
    mechanism: Mechanism, survey: Survey, reported: ReportedCounts, items: Sequence[Item]
) -> System | None:
    true = [(survey.codes[name] == code).astype(np.int64) for name, code in items]
    held = [(reported.column(name).astype(np.int64) >> code) & 1 for name, code in items]
    matrix, cells = _matrix(mechanism, [name for name, _ in items])
    truth, reports = (
        np.bincount(cells(bits), minlength=len(matrix)).astype(np.float64) for bits in (true, held)
    )
    return System.of(matrix, truth, reports)


def _matrix(
    mechanism: Mechanism, names: Sequence[str]
) -> tuple[Tensor, Callable[[Sequence[_Bits]], _Bits]]:
    """Return the paper's matrix for items of these variables and what finds a record's cell."""
    block = mechanism.plan.block_of(names[0])
    if isinstance(block.channel, OneHot):
        flip = Symmetric.from_probability(2, block.channel.flip_units / RESOLUTION).matrix()
        product = np.ones((1, 1))
        for _ in names:
            product = np.kron(product, flip).astype(np.float64)
        return product, _pattern
    channel = _restricted(block, names)
    if not isinstance(channel, CutAndPaste):
        raise PlanError(f"{mechanism.name} does not report items.")
    return channel.partial_supports, _number


def _restricted(block: Block, names: Sequence[str]) -> Transition:
    channel = block.restrict(names)
    if channel is None:
        raise PlanError(f"Block {block.name!r} has no channel over {list(names)} alone.")
    return channel


def _pattern(bits: Sequence[_Bits]) -> _Bits:
    """Return the number whose binary digits are a record's bits, the first one highest."""
    found: _Bits = np.zeros(len(bits[0]), dtype=np.int64)
    for each in bits:
        found = 2 * found + each
    return found


def _number(bits: Sequence[_Bits]) -> _Bits:
    found: _Bits = np.sum(bits, axis=0, dtype=np.int64)
    return found


def norm(vector: Tensor) -> float:
    """Return the Euclidean norm."""
    return float(np.linalg.norm(vector))


_ROUNDING = 1e-9
"""By how much a bound may be passed that is met with equality, relatively."""

_SAME = 1e-6
"""Up to this relative difference two computed factors are one."""

_ALARM = 1e-3


def compared(setting: Setting, label: str, survey: Survey) -> Result:
    """Hold the bound against the error for every mechanism of the paper and table of a survey."""
    mechanisms = [m for m in papers_mechanisms(survey.domain) if m.name in (*DIAGONAL, *BITWISE)]
    runs = QUICK_RUNS if setting.quick else RUNS
    owner = SeededOwner.of(label, setting.seed, survey.records)
    rows, whole = [], []
    for mechanism, run in setting.steps(itertools.product(mechanisms, range(runs))):
        reported = owner.report(mechanism.plan, survey.codes, run)
        for length, system in systems(mechanism, survey, reported):
            rows.append(_row(mechanism.name, run, length, system))
        if mechanism.name == DIAGONAL[0]:
            whole.append(_squared(survey, mechanism, reported))
    cases = pd.DataFrame(rows)
    means = summarized(cases)
    return Result(
        {"means": means},
        (
            holds(cases),
            table(means, runs),
            sharp(cases),
            eigenvalues(cases),
            decides(means),
            variance(survey, mechanisms[0], whole),
            opposing(survey, mechanisms[1]),
        ),
        lambda figure: _draw_bound(figure, means),
    )


def _row(name: str, run: int, length: int, system: System) -> dict[str, float | str]:
    return {
        "mechanism": name,
        "run": run,
        "length": length,
        "condition": system.condition,
        "deviation": system.deviation,
        "error": system.error,
        "bound": system.condition * system.deviation,
        "by_eigenvalues": system.eigenvalues * system.deviation,
        "flatness": norm(system.truth) / norm(system.expected),
    }


def summarized(cases: pd.DataFrame) -> pd.DataFrame:
    """Return means by mechanism and length, and how loose the bound is: its quotient by the error.

    `loose` is the geometric mean, `tightest` the least.
    """
    ratio = cases["bound"] / cases["error"]
    groups = cases.assign(log=np.log(ratio), ratio=ratio).groupby(
        ["mechanism", "length"], sort=False
    )
    means = groups[["condition", "deviation", "error", "bound"]].mean()
    means["loose"] = np.exp(groups["log"].mean())
    means["tightest"] = groups["ratio"].min()
    means["cases"] = groups.size()
    return means.reset_index()


def holds(cases: pd.DataFrame) -> Finding:
    """Check that no error is above its bound."""
    passed = int((cases["error"] > cases["bound"] * (1 + _ROUNDING)).sum())
    ratio = cases["bound"] / cases["error"]
    return Finding(
        passed == 0,
        f"The bound holds: the error is above it in {passed} of {len(cases):,} cases (mechanisms,"
        f" runs and tables or itemsets). It is {ratio.min():.2f} to {ratio.max():,.0f} times the"
        " error.",
    )


def table(means: pd.DataFrame, runs: int) -> Finding:
    """Return errors and bounds by length, in percent, and how loose the bounds are."""
    lengths = sorted(set(means["length"]))
    lines = []
    for title, column, scale in (
        ("error", "error", 100.0),
        ("bound", "bound", 100.0),
        ("bound/error", "loose", 1.0),
    ):
        lines.append(f"{title:<12}" + "".join(f"{k:>9}" for k in lengths))
        for name in dict.fromkeys(means["mechanism"]):
            own = means[means["mechanism"] == name].set_index("length")[column] * scale
            cells = (f"{own[k]:>9.3g}" if k in own.index else f"{'-':>9}" for k in lengths)
            lines.append(f"{name:<12}" + "".join(cells))
        lines.append("")
    return Finding(
        None,
        f"Relative errors of tables and their bounds in percent, gamma {GAMMA:g}, means of {runs}"
        " runs, by length; and the bound over the error, geometric means. The tables are those of"
        " each mechanism's own equations, so that rows compare with their bounds and not with each"
        " other.\n\n" + "\n".join(lines).rstrip(),
    )


def sharp(cases: pd.DataFrame) -> Finding:
    """Measure how DET-GD misses equality: its errors have no part along the one easy direction."""
    rows = cases[cases["mechanism"].isin(DIAGONAL)]
    off = float((rows["bound"] / rows["error"] / rows["flatness"] - 1).abs().max())
    return Finding(
        None,
        "For DET-GD and RAN-GD the bound is as sharp as it can be: every direction but one is"
        " shrunk alike, and along that one, the number of records, reports have no error. What is"
        f" left is ||X|| / ||A X||, {rows['flatness'].min():.2f} to {rows['flatness'].max():.2f},"
        " the flatness of the expected reports"
        f" (bound over error is {'this' if off < _SAME else 'not quite this'} factor).",
    )


def eigenvalues(cases: pd.DataFrame) -> Finding:
    """Try the ratio of eigenvalues, which is the condition number of symmetric matrices only."""
    rows = cases[cases["mechanism"] == BITWISE[1]]
    failed = int((rows["error"] > rows["by_eigenvalues"] * (1 + _ROUNDING)).sum())
    return Finding(
        None,
        "The paper gives the condition number of positive definite matrices as the ratio of"
        " eigenvalues. C&P's matrix is not symmetric: with that ratio its error is above the bound"
        f" in {failed} of {len(rows):,} cases. Singular values are taken here.",
    )


def decides(means: pd.DataFrame) -> Finding:
    """Check that longer itemsets, of larger condition numbers, have larger errors (FRAPP 7.1)."""
    grown = {name: means[means["mechanism"] == name] for name in (*BITWISE, DIAGONAL[0])}
    texts = {
        name: f"condition {_grown(own, 'condition'):.3g}, error {_grown(own, 'error'):.3g}"
        for name, own in grown.items()
    }
    return Finding(
        all((np.diff(grown[name]["error"]) > 0).all() for name in BITWISE),
        "The error grows with the condition number, at every length. Times from length 1 to the"
        f" longest with an inverse: MASK: {texts['MASK']}; C&P: {texts['C&P']}. But a constant"
        f" condition number is no constant error: DET-GD: {texts['DET-GD']}, for the reports of"
        " longer itemsets themselves err more.",
    )


def _grown(own: pd.DataFrame, column: str) -> float:
    return float(own[column].iloc[-1] / own[column].iloc[0])


def _squared(survey: Survey, mechanism: Mechanism, reported: ReportedCounts) -> float:
    """Return ||Y - E(Y)||^2 of whole records."""
    *_, (_, system) = of_tables(mechanism, survey, reported)
    return float(norm(system.reports - system.expected) ** 2)


def variance(survey: Survey, mechanism: Mechanism, squared: Sequence[float]) -> Finding:
    """Hold the reports' squared errors against equation 10, summed over all whole records."""
    exact = ReportedCounts(survey.codes, {v.name: v.size for v in survey.domain})
    truth = exact.table(survey.domain.names).ravel().astype(np.float64)
    total, spread = moments_of_squares(mechanism.plan.blocks[0].channel, truth)
    z = (float(np.mean(squared)) - total) / (spread / math.sqrt(len(squared)))
    limit = float(stats.norm.isf(_ALARM / 2))
    return Finding(
        abs(z) <= limit,
        "Equation 10 gives the reports' variance: ||Y - E(Y)||^2 of whole records under DET-GD is"
        f" {np.mean(squared) / total:.3f} times the sum of the variances, {z:+.1f} standard"
        f" errors off (mean of {len(squared)} runs; up to {limit:.1f} in 999 of 1,000).",
    )


def moments_of_squares(channel: Transition, truth: Tensor) -> tuple[float, float]:
    """Return mean and deviation of ||Y - E(Y)||^2 under a gamma-diagonal matrix (FRAPP eq. 10).

    Equation 10 simplifies to Var(Y_v) = E(Y)_v - sum_u A_vu^2 X_u. The reports' covariance is
    diag(E(Y)) - A diag(X) A', and the squared length of a normal vector has twice the sum of its
    covariance's squares for a variance; with A = a I + b 11' nothing needs to be listed.
    """
    size, records = truth.size, float(truth.sum())
    b = _row_of(channel)[-1]
    a = 1 - size * b
    expected = a * truth + b * records
    kept = (a * a + 2 * a * b) * truth + b * b * records  # sum_u A_vu^2 X_u
    squares = float((truth**2).sum())
    # The squares of A diag(X) A', which is a^2 X_i on the diagonal + a b (X_i + X_j) + b^2 N.
    product = (a * b) ** 2 * (2 * size * squares + 2 * records**2)
    product += 4 * a * b**3 * size * records**2 + b**4 * records**2 * size**2
    product += float(
        (2 * a**2 * truth * (2 * a * b * truth + b**2 * records) + a**4 * truth**2).sum()
    )
    total = float((expected**2).sum()) - 2 * float((expected * kept).sum()) + product
    return float((expected - kept).sum()), math.sqrt(2 * total)


def _row_of(channel: Transition) -> Tensor:
    """Return the probabilities of all reports of the first category."""
    first = np.zeros(channel.shape[0])
    first[0] = 1.0
    return channel.apply(first, 0)


def opposing(survey: Survey, mechanism: Mechanism) -> Finding:
    """Compute the two terms of 4.2, after equation 24, of RAN-GD: exactly, in the mean square."""
    channel = mechanism.plan.blocks[0].channel
    spread = channel.as_dict()["spread"] / RESOLUTION
    size, records = survey.domain.size, survey.records
    row = _row_of(channel)
    # Off the diagonal r moves every entry by r / (n - 1), r being n - 1 times the spread.
    moved = (spread**2 / 3) * ((size - 1) ** 2 + (size - 1))
    fixed = float((row * (1 - row)).sum())
    return Finding(
        None,
        "RAN-GD's two terms (4.2) are said almost to cancel. In the mean square they do exactly:"
        f" ||Y - E(Y)||^2 is smaller than DET-GD's by {records * moved:.2g} of"
        f" {records * fixed:,.0f} squared records and ||E(Y) - E(E(Y))||^2 is those"
        f" {records * moved:.2g}, so that the error is DET-GD's.",
    )


def _draw_bound(figure: Figure, means: pd.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    looks = {
        "DET-GD": (style.BLUE, "o"),
        "RAN-GD": (style.SKY, "s"),
        "MASK": (style.RED, "^"),
        "C&P": (style.PURPLE, "D"),
    }
    for name, (colour, marker) in looks.items():
        rows = means[means["mechanism"] == name]
        _pair(left, rows, colour, marker, name)
        right.plot(rows["length"], rows["loose"], "-", color=colour, marker=marker, markersize=6)
        right.plot(rows["length"], rows["tightest"], ":", color=colour, linewidth=1.2)
    left.plot([], [], "--", color=style.BLACK, label="bound of equation 9")
    right.plot([], [], "-", color=style.BLACK, label="geometric mean")
    right.plot([], [], ":", color=style.BLACK, label="tightest case")
    right.axhline(1, color=style.GREY, linewidth=1)
    for axis, title in ((left, "(a) relative error and bound"), (right, "(b) bound over error")):
        axis.set(
            yscale="log", title=title, xticks=sorted(set(means["length"])), xlabel="itemset length"
        )
        axis.legend(fontsize=9)
    left.set_ylabel("‖X̂ − X‖ / ‖X‖")
    left.yaxis.set_major_formatter("{x:g}")
    right.yaxis.set_major_formatter("{x:g}")


def _pair(axis: Axes, rows: pd.DataFrame, colour: str, marker: str, name: str) -> None:
    axis.plot(rows["length"], rows["error"], "-", color=colour, marker=marker, label=name)
    axis.plot(rows["length"], rows["bound"], "--", color=colour, marker=marker, fillstyle="none")


_CHOICES = (
    (
        "Each mechanism has the equations of its paper: DET-GD and RAN-GD a table of all categories"
        " for every set of variables, MASK the 2^k patterns of every frequent itemset, C&P the"
        " numbers of its items (K = 3, the smallest rho of gamma 19)."
    ),
    (
        "The expected reports E(Y) are A X with the true counts, which only an experiment knows;"
        " norms are Euclidean."
    ),
)

CENSUS_BOUND = Experiment(
    name="frapp-9",
    title="The bound by the condition number beside the measured error, on CENSUS",
    source="FRAPP (2005), equations 9, 10 and 24",
    run=lambda setting: compared(setting, "frapp-9", census(setting)),
    needs_data=CENSUS_FILES,
    choices=(CLOSED_LEFT, *_CHOICES),
)

HEALTH_BOUND = Experiment(
    name="frapp-9-health",
    title="The bound by the condition number beside the measured error, on HEALTH",
    source="FRAPP (2005), equations 9, 10 and 24",
    run=lambda setting: compared(setting, "frapp-9-health", health(setting)),
    needs_data=HEALTH_FILES,
    choices=_CHOICES,
)

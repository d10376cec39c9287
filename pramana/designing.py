"""Design of a plan that suits what is to be learned, under a privacy bound for the whole record."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Lt

from pramana.frames.sentences import checked_options, one_sentence, quoted
from pramana.frames.tables import names_of, shown
from pramana_core.alike import did_you_mean
from pramana_core.design import Design as CoreDesign
from pramana_core.design import Learn, Option, Problem, Requirements, find_design, goal
from pramana_core.domain import Domain
from pramana_core.errors import DomainError, OptionError, PlanError, UnknownVariable
from pramana_core.estimation.estimated import Estimator, choose_estimator
from pramana_core.learn.common.options import require_limit
from pramana_core.plan import Plan
from pramana_core.privacy import CentralLoss
from pramana_core.rounding import rounded_up
from pramana_core.terminal import progress_bar

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Design(CoreDesign):
    """The families of plans that `pm.design` compared, and the family that it chose.

    Args:
        problem: the purpose that the plan serves, with its bound.
        options: every family, the most accurate first; families that cannot meet the bound or serve
            the purpose are last.
        chosen: the option that was chosen.
        unserved: the tables that sampled sets cannot estimate, as text; "" if there are none.

    Examples:
        >>> import pramana as pm
        >>> made = pm.design(pm.Domain.of(age=["child", "adult"], sex=["f", "m"]), 500, gamma=9)
        >>> made.plan
        Plan(age*sex: gamma-diagonal, record kept 0.667)
        >>> made
        Design for 500 records: gamma-diagonal, gamma 9 about the whole record
          family           loss error kept gamma estimator withheld
        * gamma-diagonal  0.046  9.5%  91%     9    moment       0%
          sampled-mixed   0.046  9.5%  91%     9    moment       0%
          independent     0.117 16.7%  79%     9    moment       0%
          mask            0.225 27.9%  62%     9    moment       0%
          cut-and-paste-2 0.267 32.0%  56%     9    moment       0%
        Not possible: random-gamma-diagonal, cut-and-paste-1, sampled-1.
    """

    @property
    def family(self) -> str:
        """The chosen family."""
        return self.chosen.family

    @property
    def estimator(self) -> Estimator:
        """The estimator to pass to `pm.estimate` for reports under the plan."""
        return choose_estimator([self.plan])

    @property
    def gamma(self) -> float:
        """The amplification of the whole record under the plan, over all owners."""
        return self.chosen.gamma

    @property
    def epsilon(self) -> float:
        """The logarithm of `gamma`."""
        return math.log(self.gamma)

    @property
    def records(self) -> int:
        """The expected count of records."""
        return self.problem.records

    @property
    def warning(self) -> str:
        """A warning about using the design, such as too much noise; "" if unnecessary."""
        return self.advice

    def plan_of(self, owner: str) -> Plan:
        """Return an owner's part of the study's plan, for randomizing its columns.

        Raises PlanError.
        """
        if self.study_plan is None:
            raise PlanError(
                "This design is for one owner; use its attribute `plan` instead.", where="owner"
            )
        with one_sentence():
            return Plan((self.study_plan.block(owner),))

    def to_frame(self) -> pd.DataFrame:
        """Return the compared families, one row each, the most accurate first.

        Columns: `family`; `chosen`; `loss`, which ranks families: 1 minus the expected correlation
        between a moderate association and its estimate; `error`, the predicted relative standard
        error of the cells of the wanted tables, against the population; `kept`, the share of a
        moderate association that remains under the noise, from 0 to 1; `gamma` of the whole record;
        `estimator`, the one with the smallest error; `withheld`, the share of a record's cells that
        are not reported; `reason`, why a family is impossible (its figures are then NaN).
        """
        import pandas as pd

        return pd.DataFrame([self._row(made) for made in self.options])

    def _row(self, made: Option) -> dict[str, object]:
        able = made.able
        return {
            "family": made.family,
            "chosen": made is self.chosen,
            "loss": made.prediction.loss if able else math.nan,
            "error": made.prediction.score if able else math.nan,
            "kept": made.prediction.kept if able else math.nan,
            "gamma": made.gamma,
            "estimator": made.estimator if able else "",
            "withheld": math.nan if made.plan is None else _withheld(made.plan),
            "reason": made.reason,
        }

    def __repr__(self) -> str:
        families = self.to_frame()
        able = families[families["error"].notna()]
        chosen = able["chosen"].map({True: "* ", False: "  "})
        table = able.assign(family=chosen + able["family"]).drop(columns=["reason", "chosen"])
        width = int(table["family"].str.len().max())
        heading = "  family".ljust(width)
        written = table.rename(columns={"family": heading}).to_string(
            index=False,
            formatters={
                heading: f"{{:<{width}}}".format,
                "loss": "{:.3f}".format,
                "error": "{:.1%}".format,
                "kept": "{:.0%}".format,
                "gamma": rounded_up,
                "withheld": "{:.0%}".format,
            },
        )
        unable = ", ".join(families["family"][families["error"].isna()])
        rest = [f"Not possible: {unable}." if unable else "", self.warning]
        title = (
            f"Design for {self.records:,} records: {self.family}, gamma {rounded_up(self.gamma)}"
            " about the whole record"
        )
        return "\n".join([title, written, *(line for line in rest if line)])


def _withheld(plan: Plan) -> float:
    reported = [
        block.channel.share_reported(axis)
        for block in plan.blocks
        for axis in range(len(block.names))
    ]
    return 1 - math.fsum(reported) / len(reported)


def require_domain(domain: object) -> Domain:
    """Return the argument if it is a domain. Raises DomainError for any other object."""
    if not isinstance(domain, Domain) or not len(domain):
        made = "; write pm.domain(frame, categories) first" if hasattr(domain, "columns") else ""
        given = "one without variables" if isinstance(domain, Domain) else shown(domain)
        raise DomainError(f"domain must be a Domain, not {given}{made}.", where="domain")
    return domain


def require_variables(names: Iterable[str], domain: Domain, argument: str) -> None:
    """Raise UnknownVariable if an argument names something that is not a variable."""
    unknown = [name for name in names if name not in domain]
    if unknown:
        raise UnknownVariable(
            f"{argument} names {quoted(unknown)}, which the domain"
            f" lacks{did_you_mean(unknown, domain.names)}; its variables are"
            f" {quoted(domain.names)}.",
            where=unknown[0],
        )


def one_of(given: Mapping[str, object]) -> tuple[str, object] | None:
    """Return the only given argument and its name, or None. Raises OptionError for several."""
    found = [(name, value) for name, value in given.items() if value is not None]
    if len(found) > 1:
        names = list(given)
        raise OptionError(
            f"Pass only one of {', '.join(names[:-1])} and {names[-1]}, not"
            f" {' and '.join(name for name, _ in found)} together.",
            where=found[0][0],
        )
    return found[0] if found else None


def number(value: object, argument: str) -> float:
    """Return a finite number. Raises OptionError."""
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        found = math.inf
    if isinstance(value, bool) or not math.isfinite(found):
        raise OptionError(f"{argument} must be a number, not {shown(value)}.", where=argument)
    return found


AUTO = "auto"

_POSITIVE = Annotated[float, Gt(0)] | None

_KINDS: dict[str, Any] = {
    "records": Annotated[int, Ge(1)],
    "gamma": _POSITIVE,
    "epsilon": _POSITIVE,
    "breach": tuple[float, float] | None,
    "central_epsilon": _POSITIVE,
    "delta": Annotated[float, Gt(0), Lt(1)] | None,
    "target": str | None,
    "length": Annotated[int, Ge(1)] | None,
    "minimum_support": Annotated[float, Ge(0), Lt(1)],
    "structure": Mapping[str, Sequence[str]] | None,
}
"""The type and limits of each argument of `design`."""


@checked_options
def design(
    domain: Domain,
    records: int,
    *,
    gamma: float | None = None,
    epsilon: float | None = None,
    breach: tuple[float, float] | None = None,
    central_epsilon: float | None = None,
    delta: float | None = None,
    learn: Learn = "pairs",
    target: str | None = None,
    length: int | None = None,
    minimum_support: float = 0.0,
    structure: Mapping[str, Sequence[str]] | None = None,
    public: Sequence[str] = (),
    owners: Mapping[str, Sequence[str]] | None = None,
    family: str = AUTO,
) -> Design:
    """Find the most accurate plan for a purpose, under a bound on the disclosure of a whole record.

    Families of plans within the bound are compared by their predicted errors, which are computed as
    if the variables were independent and uniform. The comparison uses the number of records but not
    the data.

    Args:
        domain: the variables.
        records: the expected number of records.
        gamma: the largest amplification of the whole record, above 1 (FRAPP eq. 1). Pass one of
            `gamma`, `epsilon` and `breach`, or `central_epsilon` with at most one of them.
        epsilon: the logarithm of `gamma`, above 0.
        breach: (rho1, rho2): a belief of rho1 may grow to at most rho2 (FRAPP eq. 2).
        central_epsilon: the largest epsilon, except with probability `delta`, that the plan may
            state against readers who cannot attribute reports to people; no other release may have
            the same records.
        delta: see `central_epsilon`, without which it is refused; 1e-8 if None.
        learn: `counts`, `pairs`, `itemsets`, `structure`, `tree` or `classifier`.
        target: the variable that a tree or a classifier predicts.
        length: the largest number of variables in an itemset; 3 if None.
        minimum_support: ignore cells with a smaller expected share; 0 or more, below 1.
        structure: the parents of each node, if the structure of the network to learn is known.
        public: variables that are reported unchanged.
        owners: the variables of each owner, if several owners take part: `{"a": ["x"], "b":
            ["y"]}`.
        family: the family of plans; `auto` chooses the one with the smallest error.

    Raises:
        OptionError: the bound cannot be met, or not exactly one bound is given.
        UnknownVariable, LimitExceeded, StructureError: an argument is invalid.

    Examples:
        >>> import pramana as pm
        >>> domain = pm.Domain.of(age=["child", "adult"], sex=["f", "m"], town=["A", "B", "C"])
        >>> made = pm.design(domain, 10_000, gamma=19)
        >>> made.family, made.estimator, made.useful
        ('gamma-diagonal', 'moment', True)
    """
    given = locals()
    for name, kind in _KINDS.items():
        require_limit(given[name], kind, name)
    require_limit(learn, Learn, "learn")
    open_ = names_of(public, "public")
    require_variables(open_, require_domain(domain), "public")
    own_names = _owners(owners, domain)
    ordered = list(itertools.chain(*own_names.values()))
    ordered += [v.name for v in domain if v.name not in ordered]
    if delta is not None and central_epsilon is None:
        raise OptionError(
            "A delta has no effect without a central epsilon.",
            where="delta",
            remedy="Omit it, or pass central_epsilon.",
        )
    with one_sentence(), progress_bar() as bar:
        domain = domain.project(ordered)
        central = CentralLoss.of(central_epsilon, delta)
        needs = Requirements.of(domain, gamma, epsilon, breach, open_, own_names, central)
        wanted = goal(
            domain,
            learn,
            length=length,
            minimum_support=minimum_support,
            structure=structure,
            target=target,
        )
        # An entry that is not a name is rejected with its text.
        named = None if str(family) == AUTO else str(family)
        found = find_design(Problem(needs, wanted, records), named, bar.stage)
        return Design(found.problem, found.options, found.chosen, found.unserved)


def _owners(owners: object, domain: Domain) -> dict[str, list[str]]:
    if not isinstance(owners, Mapping | None):
        raise OptionError(
            'owners must be a dict of lists of variables, such as {"a": ["x"], "b": ["y"]}, not'
            f" {shown(owners)}.",
            where="owners",
        )
    own_names: dict[str, list[str]] = {}
    for owner, given in (owners or {}).items():
        names = names_of(given, f"owners[{owner!r}]")
        require_variables(names, domain, "owners")
        if twice := [name for name in names if any(name in own for own in own_names.values())]:
            raise OptionError(
                f"owners assigns {quoted(twice)} to more than one owner.", where="owners"
            )
        own_names[str(owner)] = list(names)
    return own_names

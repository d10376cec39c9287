"""What every simulation is asked on the command line: records, randomization, runs, result."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial, wraps
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import typer

from pramana.simulate.model_sharing_options import SimulationOptions
from pramana_core.errors import NotConverged, OptionError
from pramana_core.learn.common.options import RuleOptions, limits_of, types_of
from pramana_core.learn.networks.structure import Scoring, Search
from pramana_core.progress import OnShare
from pramana_core.terminal import console, progress_bar

if TYPE_CHECKING:
    from pramana.simulate.sources import Source
    from pramana.simulate.study import Trials
    from pramana_core.design import Goal
    from pramana_core.domain import Domain
    from pramana_core.estimation.estimated import Estimator
    from pramana_core.plan import Plan

Bif = Annotated[Path | None, typer.Option(help="Draw the records from this network (BIF).")]
Table = Annotated[Path | None, typer.Option(help="Take the records of this CSV or Parquet table.")]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        help="The table's columns to use, with commas between; may be given again, for names that"
        " have a comma themselves."
    ),
]
Intervals = Annotated[
    int | None,
    typer.Option(
        help="Cut columns of more different numbers into this many equal intervals (default: more"
        " than 8 into 3 to 8 of nearly equal numbers of records)."
    ),
]
Records = Annotated[
    int | None,
    typer.Option(help="Records in each run (default 10000 of a network, all of a table)."),
]
Probability = Annotated[
    float | None,
    typer.Option(
        "--p",
        help="Replace every variable's category with this probability, by each of the K - 1"
        " others with p / (K - 1).",
    ),
]
Channels = Annotated[
    Path | None, typer.Option(help="Instead of --p, a plan as releases carry it (JSON).")
]
Design = Annotated[
    str | None,
    typer.Option(
        help="Instead of --p, a plan designed for --gamma: auto, the designer's choice, or of a"
        " family: independent, gamma-diagonal, ran-gd, mask, cut-and-paste, sampled."
    ),
]
Gamma = Annotated[
    float | None, typer.Option(help="The largest amplification of the whole record, of --design.")
]
Owners = Annotated[
    str | None,
    typer.Option(
        help="Several owners report parts of each record by one study plan, of --design: how many"
        ' owners, or the columns of each ("a,b; c,d").',
    ),
]
EstimatorOption = Annotated[
    Literal["moment", "ml", "pooled"] | None,
    typer.Option(
        "--estimator",
        help="Of the counts; default by moments, with --design what is predicted to err less.",
    ),
]
Target = Annotated[str, typer.Option(help="The variable to predict.")]
Holdout = Annotated[
    float, typer.Option(help="The share of each run's records kept, true, for the test.")
]
Runs = Annotated[int, typer.Option(help="How often to draw, randomize and learn.")]
Seed = Annotated[int, typer.Option(help="Decides records and reports.")]
Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
Out = Annotated[Path | None, typer.Option(help="Write the result to this JSON file.")]


@dataclass(frozen=True)
class Answer:
    """Where a result goes: as JSON to standard output, and to a file."""

    json: bool
    out: Path | None


class Outcome(Protocol):
    """What a simulation found."""

    def as_dict(self) -> dict[str, Any]:
        """Return its JSON form."""


OutcomeT = TypeVar("OutcomeT", bound=Outcome)


@dataclass(frozen=True)
class Setup:
    """The options on records and randomization, as typed; one of a kind must be given."""

    bif: Bif = None
    table: Table = None
    variables: Variables = None
    intervals: Intervals = None
    records: Records = None
    p: Probability = None
    channels: Channels = None
    design: Design = None
    gamma: Gamma = None
    estimator: EstimatorOption = None
    owners: Owners = None

    def prepare(
        self,
        wanted: Callable[[Domain], Goal],
        runs: int,
        seed: int,
        *,
        holdout: float = 0.0,
        target: str | None = None,
        on_step: OnShare = lambda _share: None,
    ) -> tuple[Trials, Estimator]:
        """Return what is repeated, and the estimator of the counts.

        Args:
            wanted: the goal of a design, given the variables.
            runs, seed, holdout: see `Trials`.
            target: a variable that the records must have.
            on_step: told the share of the designer's work that is done.

        Raises:
            OptionError: options that exclude each other, or what is made of them.
            UnknownVariable: no such target.
        """
        from pramana.simulate.sources import require_records, require_target
        from pramana.simulate.study import Trials, require_repeatable

        self._require_randomization()
        source, plan = self._source()
        if target is not None:
            require_target(target, source)
        records = require_records(self.records, source)
        require_repeatable(records, runs, seed, holdout)
        if self.design is None:
            made = self._plan(source, plan)
            return Trials(source, made, records, runs, seed, holdout=holdout), self._estimator
        from pramana.simulate.designs import designed, owners_of
        from pramana_core.design.families import require_gamma

        gamma = self.gamma or 0.0
        owners = () if self.owners is None else owners_of(source.domain, self.owners)
        held = [name for _, own in owners for name in own] or source.domain.names
        domain = source.domain.project(held)
        with options_as_typed():
            require_gamma(gamma)
            goal = wanted(domain)
        reported = records - round(holdout * records)
        found = designed(domain, self.design, gamma, goal, reported, on_step, owners)
        if found.note:
            console(stderr=True).print(found.note, style="yellow", markup=False, soft_wrap=True)
        trials = Trials(source, found.plan, records, runs, seed, found, holdout)
        return trials, self.estimator or found.estimator

    @property
    def _estimator(self) -> Estimator:
        return self.estimator or "moment"

    def _require_randomization(self) -> None:
        ways = {"--p": self.p, "--channels": self.channels, "--design": self.design}
        given = [name for name, value in ways.items() if value is not None]
        if not given:
            raise OptionError(
                "None of --p, --channels and --design is given.",
                where="--p",
                remedy="Give one of them; --design takes --gamma with it.",
            )
        if len(given) > 1:
            raise _not_one(given[0], given[1], both=True)
        if self.owners is not None and self.design is None:
            raise OptionError(
                "--owners belongs to --design.",
                where="--owners",
                remedy="Give --design and --gamma with it, the bound over all owners.",
            )
        if (self.design is None) != (self.gamma is None):
            raise OptionError(
                "--design needs --gamma." if self.gamma is None else "--gamma belongs to --design.",
                where="--gamma",
                remedy="Give --design with --gamma, or --p or --channels alone.",
            )

    def _source(self) -> tuple[Source, Plan | None]:
        from pramana.simulate.designs import read_plan
        from pramana.simulate.sources import NetworkSource
        from pramana.simulate.tables import read_source

        plan = None if self.channels is None else read_plan(self.channels)
        if (self.bif is None) == (self.table is None):
            raise _not_one("--bif", "--table", both=self.bif is not None)
        if self.table is not None:
            known = None if plan is None else plan.domain
            return read_source(self.table, self.variables or None, known, self.intervals), plan
        for option, verb, value in (
            ("--variables", "chooses", self.variables),
            ("--intervals", "cuts", self.intervals),
        ):
            if value:
                raise OptionError(
                    f"{option} {verb} columns of a table; a network is simulated whole.",
                    where=option,
                )
        assert self.bif is not None  # noqa: S101 - narrows the type
        return NetworkSource.read(self.bif), plan

    def _plan(self, source: Source, plan: Plan | None) -> Plan:
        from pramana.simulate.designs import fitting, symmetric

        if plan is not None:
            return fitting(plan, source.domain, self._estimator)
        return symmetric(source.domain, self.p or 0.0)


_FLAGS = {
    (Scoring, "name"): "--score",
    (Search, "method"): "--search",
    (RuleOptions, "minimum_support"): "--min-support",
    (SimulationOptions, "model"): "--global",
}
"""What options are called in commands, where they are not called the same."""

_DEFAULTS = {"minimum_support": 0.05}
_NO_EFFECT: Mapping[type, set[str]] = {RuleOptions: {"confidence", "against"}}
"""Options that change nothing of what a simulation measures."""


def _simple(kind: Any) -> Any:
    """Return the type of an option without its limits; None where it is no number or word."""
    parts = [get_args(p)[0] if get_origin(p) is Annotated else p for p in get_args(kind) or [kind]]
    if get_origin(kind) is Annotated:
        return get_args(kind)[0]
    if get_origin(kind) is Literal or kind in (bool, int, float):
        return kind
    plain = all(p in (int, float, NoneType) or get_origin(p) is Literal for p in parts)
    return Union[tuple(parts)] if NoneType in parts and plain else None  # noqa: UP007


def _options(kind: type, own: Collection[str]) -> Iterator[inspect.Parameter]:
    """Yield a command's options for those of a dataclass, with its docstring's words as help."""
    if kind is Setup:
        yield from inspect.signature(Setup, eval_str=True).parameters.values()
        return
    said = dict(re.findall(r"(?m)^    (\w+): (.*(?:\n        .*)*)", inspect.getdoc(kind) or ""))
    for option in fields(kind):
        limits, simple = types_of(kind)[option.name], _simple(types_of(kind)[option.name])
        if simple is None or option.name in {*own, *_NO_EFFECT.get(kind, ())}:
            continue
        words = re.split(r"(?<=[.])\s", " ".join(said[option.name].replace("`", "").split()))[0]
        bounds = f" ({limits_of(limits)})" if limits_of(limits) else ""
        flags = [_FLAGS[kind, option.name]] if (kind, option.name) in _FLAGS else []
        yield inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULTS.get(option.name, option.default),
            annotation=Annotated[
                simple,
                typer.Option(*flags, help=words[0].upper() + words[1:].rstrip(".") + bounds + "."),
            ],
        )


def with_options(**kinds: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of dataclasses, in place of the parameters that take them.

    What the command gets makes such an object, of what was typed and what it adds; of `Setup` it
    gets the object. An option that the command has itself, or that is no number or word, is left
    to it.
    """

    def given(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        made = {name: list(_options(kind, own)) for name, kind in kinds.items()}

        @wraps(command)
        def called(**typed: Any) -> None:
            for name, kind in kinds.items():
                chosen = {option.name: typed.pop(option.name) for option in made[name]}
                typed[name] = kind(**chosen) if kind is Setup else partial(kind, **chosen)
            command(**typed)

        parameters = [
            option.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in own.values()
            for option in made.get(one.name, [one])
        ]
        vars(called)["__signature__"] = inspect.Signature(parameters, return_annotation=None)
        called.__annotations__ = {option.name: option.annotation for option in parameters}
        return called

    return given


def tell(outcome: OutcomeT, answer: Answer, show: Callable[[OutcomeT], None]) -> None:
    """Write an outcome to the file that was asked for, and show it or print it as JSON."""
    from pramana.simulate.study import write_result
    from pramana_core.terminal import print_json

    if answer.out is not None:
        write_result(outcome.as_dict(), answer.out)
    if answer.json:
        print_json(outcome.as_dict())
    else:
        show(outcome)


@contextmanager
def watched(what: str) -> Iterator[OnShare]:
    """Show a progress bar on standard error while a simulation runs.

    Raises:
        NotConverged: raised in the simulation; the remedy names the option that helps.
    """
    with progress_bar(what, patience=0) as bar:
        try:
            yield lambda share: bar(share, 1.0)
        except NotConverged as error:
            raise NotConverged(
                error.message, where="--estimator", remedy="Try --estimator moment."
            ) from None


@contextmanager
def options_as_typed() -> Iterator[None]:
    """Let errors of what is made from options name the options as they are typed."""
    try:
        yield
    except OptionError as error:
        name = error.where or ""
        option = _TYPED.get(name) or (
            name if name.startswith("--") else "--" + name.replace("_", "-")
        )
        # Words such as l-diverse and (c, l) stay what they are.
        wanted = rf"(?<![\w(-]){re.escape(name)}(?![\w-])"
        message = re.sub(wanted, option, error.message)
        if option not in message:
            message = f"{option}: {message}"
        raise OptionError(message, where=option, remedy=error.remedy) from None


_TYPED = {"refine": "--no-refine", "method": "--search"}


def _not_one(one: str, other: str, *, both: bool) -> OptionError:
    return OptionError(
        f"{one} and {other} exclude each other."
        if both
        else f"Neither {one} nor {other} is given.",
        where=one,
        remedy=f"Give either {one} or {other}.",
    )

"""Construction of plans: a channel for each variable, or one strength for all variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

from owner_agent.site.channels import AnyChannel
from owner_agent.site.mistakes import mistake, own_mistakes
from owner_agent.site.protection import require_estimable, require_protected
from pramana.designing import number, one_of, require_domain, require_variables
from pramana.frames.sentences import checked_options, one_sentence
from pramana.frames.tables import names_of, shown
from pramana_core.channels import (
    CutAndPaste,
    Dense,
    Grouped,
    Identity,
    Mixture,
    OneHot,
    RandomSymmetric,
    Sampled,
    SubsetSelection,
    Symmetric,
    Transition,
    Withheld,
)
from pramana_core.design import gamma_of_epsilon, gamma_of_p, require_gamma
from pramana_core.domain import Domain, Variable
from pramana_core.errors import ChannelError, PlanError, UnprotectedVariable
from pramana_core.plan import Block, Plan

__all__ = [
    "Block",
    "CutAndPaste",
    "Dense",
    "Grouped",
    "Identity",
    "Mixture",
    "OneHot",
    "Plan",
    "RandomSymmetric",
    "Sampled",
    "SubsetSelection",
    "Symmetric",
    "Withheld",
]

Names: TypeAlias = tuple[str, ...]

Channel: TypeAlias = Transition | Mapping[str, Any]
"""A channel, or its site-file keys: `{"kind": "symmetric", "p": 0.1}`."""

_READER: TypeAdapter[AnyChannel] = TypeAdapter(AnyChannel)


@checked_options
def plan(
    domain: Domain,
    channels: Mapping[str | tuple[str, ...], Channel] | None = None,
    *,
    p: float | None = None,
    gamma: float | None = None,
    epsilon: float | None = None,
    public: Sequence[str] = (),
    withheld: Sequence[str] = (),
) -> Plan:
    """Define how each variable is randomized.

    Every variable must be named or be covered by `p`, `gamma` or `epsilon`. By default, no variable
    stays unrandomized. The amplifications of variables multiply: with `gamma=3` for each of four
    variables, the whole record has gamma 81 (Ma 7.1.3). `pm.design` starts from a bound on the
    whole record instead.

    Args:
        domain: the variables.
        channels: for a variable, or a tuple of variables randomized together, a channel or its
            site-file keys: `{"kind": "symmetric", "p": 0.1}`,
            `{"kind": "grouped", "groups": [["a", "b"], ["c", "d"]], "gamma": 9}`.
        p: for all variables not named elsewhere, the probability of replacing the value (Ma 2.1),
            below (K - 1)/K for K categories.
        gamma: instead of `p`, the amplification of their symmetric channels, above 1 (FRAPP 13).
        epsilon: instead of `p`, the logarithm of that amplification, above 0.
        public: variables that are reported unchanged.
        withheld: variables that are not reported and so are not part of the plan.

    Returns:
        The plan, its blocks in the domain's order.

    Raises:
        PlanError: a variable is covered twice or not at all, or a channel does not fit.
        UnprotectedVariable: a channel reports true values, or lets them be derived.
        SingularChannel: a channel's reports determine no estimates.
        ChannelError, OptionError, UnknownVariable, UnknownCategory: an argument is invalid.

    Examples:
        >>> import pramana as pm
        >>> domain = pm.Domain.of(age=["child", "adult"], sex=["f", "m"], town=["A", "B", "C"])
        >>> pm.plan(domain, p=0.1, public=["town"])
        Plan(age: symmetric, kept 0.9; sex: symmetric, kept 0.9; town: none)
        >>> together = {("age", "sex"): {"kind": "gamma-diagonal", "gamma": 19}}
        >>> pm.plan(domain, together, withheld=["town"]).domain.names
        ('age', 'sex')
    """
    require_domain(domain)
    strength = one_of({"p": p, "gamma": gamma, "epsilon": epsilon})
    keyed = _keyed(channels)
    open_, hidden = names_of(public, "public"), names_of(withheld, "withheld")
    rest = _rest({"channels": sum(keyed, ()), "public": open_, "withheld": hidden}, domain)
    blocks = [_block(names, given, domain) for names, given in keyed.items()]
    blocks += [Block((domain[name],), Identity(domain[name].size)) for name in open_]
    blocks += [_symmetric(domain[name], strength) for name in rest]
    if not blocks:
        raise PlanError("withheld names every variable, so the plan would not report any.")
    return Plan(tuple(sorted(blocks, key=lambda block: domain.axis(block.names[0]))))


def _rest(named: Mapping[str, Sequence[str]], domain: Domain) -> list[str]:
    for argument, names in named.items():
        require_variables(names, domain, argument)
    times = Counter(name for names in named.values() for name in names)
    for name in domain.names:
        if times[name] > 1:
            where = [argument for argument, names in named.items() if name in names]
            raise PlanError(
                f"Variable {name!r} is named {times[name]} times, in {' and '.join(where)}; it must"
                " be named once.",
                where=name,
            )
    return [name for name in domain.names if not times[name]]


def _keyed(channels: object) -> dict[Names, Channel]:
    if channels is None:
        return {}
    if not isinstance(channels, Mapping):
        raise PlanError(
            "channels must be a dict from variables to channels, such as"
            f' {{"age": {{"kind": "symmetric", "p": 0.1}}}}, not {shown(channels)}.',
            where="channels",
        )
    found: dict[Names, Channel] = {}
    for key, channel in channels.items():
        names = (key,) if isinstance(key, str) else key
        if not (isinstance(names, tuple) and names and all(isinstance(n, str) for n in names)):
            raise PlanError(
                f"Keys of channels must be names of variables or tuples of them, not {shown(key)}.",
                where="channels",
            )
        found[names] = channel
    return found


def _block(names: Names, given: object, domain: Domain) -> Block:
    key = names[0] if len(names) == 1 else names
    variables = tuple(domain[name] for name in names)
    with one_sentence(f"channels[{key!r}]"):
        channel = given if isinstance(given, Transition) else _read(given).transition(variables)
        block = Block(variables, channel)
        require_estimable(block)
        try:
            require_protected(block, frozenset(names))
        except UnprotectedVariable as error:
            raise UnprotectedVariable(
                error.message,
                where=error.where,
                remedy="Choose a channel that randomizes, or name the variable in public.",
            ) from None
    return block


def _read(given: object) -> AnyChannel:
    if not isinstance(given, Mapping):
        raise ChannelError(
            'must be a channel, or its site-file keys such as {"kind": "symmetric", "p": 0.1}, not'
            f" {shown(given)}."
        )
    try:
        return _READER.validate_python(dict(given))
    except ValidationError as error:
        found = own_mistakes(error)
        mistakes = [mistake(("channel", *e["loc"]), e["type"], e["msg"]) for e in found]
        words = "; ".join(t.replace("channel.", "").removeprefix("channel: ") for t in mistakes)
        raise ChannelError(f"{words.rstrip('.')}.", where="channels") from None


def _symmetric(variable: Variable, strength: tuple[str, object] | None) -> Block:
    if strength is None:
        raise PlanError(
            f"Nothing states how to randomize variable {variable.name!r}; pass p, gamma or epsilon"
            f" for all variables not named elsewhere, or name {variable.name!r} in channels, in"
            " public (reported unchanged) or in withheld (not reported).",
            where=variable.name,
        )
    demand, value = strength
    amount = number(value, demand)
    with one_sentence(f"For variable {variable.name!r}" if demand == "p" else ""):
        if demand == "p":
            gamma_of_p(variable.size, amount)
        elif demand == "gamma":
            require_gamma(amount)
        else:
            gamma_of_epsilon(amount)
    keys = {"kind": "symmetric", demand: amount}
    return _block((variable.name,), keys, Domain((variable,)))

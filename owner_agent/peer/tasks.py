"""What owners can learn together. A new learner is one entry of `TASKS`.

A task says which of a peer's columns an owner may ask for, and what is run on the marginals that
the owner then has: exact ones of its own columns, estimated ones of its peers'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from owner_agent.peer.messages import ParametersTask, Proposal, StructureTask, TableTask
from owner_agent.peer.needs import Holdings, cross_parents, preceding
from shared.counts import Marginals, MarginalTable
from shared.errors import OptionError
from shared.learn.bayes_net import LearnedFamily, learn_parameters
from shared.learn.scores import Scoring
from shared.learn.search import Search
from shared.learn.structure import Structure
from shared.learn.structure_learning import LearnedLink, learn_structure

Watch = Callable[[int, int], None]
"""Called with (done, total); may raise to stop."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What one owner learned: its families of the network, or files for itself alone."""

    families: tuple[LearnedFamily, ...] = ()
    links: tuple[LearnedLink, ...] = ()
    files: Mapping[str, bytes] | None = None


@dataclass(frozen=True)
class Task:
    """One kind of learning.

    Attributes:
        variables: the variables a session is about.
        check: raises an InputError where the task contradicts itself.
        asks: the sender's variables that the receiver may ask for, in vertical sessions.
        scopes: the sets of variables whose tables are needed, in horizontal sessions.
        learn: runs the learner for some nodes on an owner's marginals.
        agreed_parents: the parents of a node that are known before anything is learned.
        fewer: in the words of a remedy, how the session can ask for smaller families.
        shared: whether all owners learn their part and end with the same network; else the
            initiator alone learns, and keeps the result.
    """

    variables: Callable[[Any], tuple[str, ...]]
    check: Callable[[Any], None]
    asks: Callable[[Any, Holdings, str, str], tuple[str, ...]]
    scopes: Callable[[Any], list[tuple[str, ...]]]
    learn: Callable[[Any, Marginals, Sequence[str], Watch], Findings]
    agreed_parents: Callable[[Any, str], tuple[str, ...]]
    fewer: str
    shared: bool


def task_of(proposal: Proposal) -> Task:
    """Return the entry of a proposal's task."""
    return TASKS[proposal.task.kind]


def variables_of(proposal: Proposal) -> tuple[str, ...]:
    """Return the variables that a session is about."""
    return task_of(proposal).variables(proposal.task)


def learners(proposal: Proposal) -> tuple[str, ...]:
    """Return the owners that learn: all, or the initiator where it alone gets columns."""
    if proposal.partition == "vertical" and task_of(proposal).shared:
        return tuple(proposal.participants)
    return (proposal.initiator,)


def entitled(proposal: Proposal, holdings: Holdings, sender: str, receiver: str) -> tuple[str, ...]:
    """Return the sender's variables that the receiver gets; the sender decides by this alone."""
    if sender == receiver or receiver not in learners(proposal):
        return ()
    if proposal.partition == "horizontal":
        return variables_of(proposal)
    return task_of(proposal).asks(proposal.task, holdings, sender, receiver)


def _learn_parameters(
    task: ParametersTask, marginals: Marginals, nodes: Sequence[str], watch: Watch
) -> Findings:
    parents = {node: tuple(task.structure[node]) for node in nodes}
    return Findings(_families(task, marginals, parents, watch))


def _learn_structure(
    task: StructureTask, marginals: Marginals, nodes: Sequence[str], watch: Watch
) -> Findings:
    # A peer's joint block may bring variables that nobody asked for: last, they are no parents.
    known = marginals.domain.names
    order = sorted(known, key=lambda n: task.order.index(n) if n in task.order else len(task.order))
    found = learn_structure(
        marginals,
        Scoring(name=task.score),
        Search(order=tuple(order), max_parents=task.max_parents),
        children=frozenset(nodes),
        draws=task.draws,
        seed=task.seed,
        on_step=watch,
    )
    parents = {node: found.structure.parents[node] for node in nodes}
    links = tuple(link for link in found.links if link.child in parents)
    return Findings(_families(task, marginals, parents, watch), links)


def _families(
    task: ParametersTask | StructureTask,
    marginals: Marginals,
    parents: Mapping[str, tuple[str, ...]],
    watch: Watch,
) -> tuple[LearnedFamily, ...]:
    """Learn some families; a peer's variable that is a parent stands without parents here."""
    others = {p: () for mine in parents.values() for p in mine if p not in parents}
    structure = Structure.of({**others, **parents})
    learned = learn_parameters(
        marginals, structure, method=task.method, alpha=task.alpha, on_node=watch
    )
    return tuple(family for family in learned.families if family.node in parents)


def _learn_table(
    task: TableTask, marginals: Marginals, _nodes: Sequence[str], watch: Watch
) -> Findings:
    watch(0, 1)
    written = _csv(marginals.marginal(task.variables))
    watch(1, 1)
    return Findings(files={"table.csv": written})


def _csv(table: MarginalTable) -> bytes:
    """Return a row for each cell: its labels, count, and errors (of the noise; in all)."""
    import pandas as pd

    labels = [variable.categories for variable in table.domain]
    cells = pd.MultiIndex.from_product(labels, names=list(table.domain.names))
    columns = {
        "count": table.counts.ravel(),
        "se_records": np.sqrt(table.variance(population=False)).ravel(),
        "se_population": np.sqrt(table.variance(population=True)).ravel(),
    }
    frame = pd.DataFrame(columns, index=cells).reset_index()
    written: str = frame.to_csv(index=False, float_format="%.17g", lineterminator="\n")
    return written.encode()


def _parameters_scopes(task: ParametersTask) -> list[tuple[str, ...]]:
    return [(*parents, node) for node, parents in task.structure.items()]


def _parameters_asks(
    task: ParametersTask, holdings: Holdings, sender: str, receiver: str
) -> tuple[str, ...]:
    return cross_parents(Structure.of(task.structure), holdings, sender, receiver)


def _table_asks(
    task: TableTask, holdings: Holdings, sender: str, _receiver: str
) -> tuple[str, ...]:
    return tuple(name for name in holdings[sender] if name in task.variables)


def _check_structure(task: ParametersTask) -> None:
    Structure.of(task.structure)


def _check_order(task: StructureTask) -> None:
    if len(set(task.order)) < len(task.order):
        raise _twice("order")


def _check_table(task: TableTask) -> None:
    if len(set(task.variables)) < len(task.variables):
        raise _twice("variables")


def _twice(where: str) -> OptionError:
    return OptionError(f"The task's {where} name a variable twice.", where=f"task.{where}")


TASKS: dict[str, Task] = {
    "parameters": Task(
        variables=lambda task: tuple(task.structure),
        check=_check_structure,
        asks=_parameters_asks,
        scopes=_parameters_scopes,
        learn=_learn_parameters,
        agreed_parents=lambda task, node: tuple(task.structure[node]),
        fewer="give it fewer parents",
        shared=True,
    ),
    "structure": Task(
        variables=lambda task: tuple(task.order),
        check=_check_order,
        asks=lambda task, holdings, sender, receiver: preceding(
            task.order, holdings, sender, receiver
        ),
        scopes=lambda task: [tuple(task.order)],
        learn=_learn_structure,
        agreed_parents=lambda _task, _node: (),
        fewer="lower max_parents, leave a variable out of the order",
        shared=True,
    ),
    "contingency-table": Task(
        variables=lambda task: tuple(task.variables),
        check=_check_table,
        asks=_table_asks,
        scopes=lambda task: [tuple(task.variables)],
        learn=_learn_table,
        agreed_parents=lambda _task, _node: (),
        fewer="ask for fewer variables",
        shared=False,
    ),
}

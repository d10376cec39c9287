"""What owners can learn together. A new learner is one class in `TASKS`.

A task says which of a peer's columns an owner may ask for, and what is run on the marginals that
the owner then has: exact ones of its own columns, estimated ones of its peers'.
"""

from __future__ import annotations

from typing import Any

from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.protocol.steps import Holdings
from owner_agent.peer.tasks.network_tasks import NetworkStructure, Parameters
from owner_agent.peer.tasks.own_tasks import Bayes, Linear, Rules, Table, Tree
from owner_agent.peer.tasks.task import LearningTask

TASKS: dict[str, type[LearningTask[Any]]] = {
    "parameters": Parameters,
    "structure": NetworkStructure,
    "contingency-table": Table,
    "association-rules": Rules,
    "decision-tree": Tree,
    "linear-classifier": Linear,
    "bayes-classifier": Bayes,
}


def task_of(proposal: Proposal) -> LearningTask[Any]:
    """Return what a session learns."""
    return TASKS[proposal.task.kind](proposal.task)


def variables_of(proposal: Proposal) -> tuple[str, ...]:
    """Return the variables that a session is about."""
    return task_of(proposal).variables()


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
    return task_of(proposal).asks(holdings, sender, receiver)

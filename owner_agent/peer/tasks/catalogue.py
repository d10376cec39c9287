"""What owners can learn together. A new learner is one entry of `TASKS`.

A task says which of a peer's columns an owner may ask for, and what is run on the marginals that
the owner then has: exact ones of its own columns, estimated ones of its peers'.
"""

from __future__ import annotations

from owner_agent.peer.protocol.messages import Proposal
from owner_agent.peer.protocol.steps import Holdings
from owner_agent.peer.tasks.network_tasks import PARAMETERS, STRUCTURE
from owner_agent.peer.tasks.own_tasks import BAYES, LINEAR, RULES, TABLE, TREE
from owner_agent.peer.tasks.task import LearningTask

TASKS: dict[str, LearningTask] = {
    "parameters": PARAMETERS,
    "structure": STRUCTURE,
    "contingency-table": TABLE,
    "association-rules": RULES,
    "decision-tree": TREE,
    "linear-classifier": LINEAR,
    "bayes-classifier": BAYES,
}


def task_of(proposal: Proposal) -> LearningTask:
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

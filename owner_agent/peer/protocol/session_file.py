"""`peers.toml`: what the initiator asks its peers to do together, validated whole."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from owner_agent.peer.protocol.messages import LONGEST_SECONDS, Proposal
from owner_agent.peer.protocol.tasks import TaskMessage
from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.site import Site, read_toml
from owner_agent.state.environment import Environment, WaitingTimes
from pramana_core.wire.base import Name

_SESSION_BYTES = 16


_Seconds = Annotated[float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False)]


class SessionFile(BaseModel):
    """The content of `peers.toml`; without `participants` all known peers take part."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    participants: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    seconds: _Seconds = WaitingTimes.work
    connect_seconds: _Seconds = WaitingTimes.connect
    task: TaskMessage

    def patient(self, environment: Environment) -> Environment:
        """Return the environment in which others are waited for as long as this file says."""
        patience = replace(environment.patience, work=self.seconds, connect=self.connect_seconds)
        return replace(environment, patience=patience)

    def allows(self, proposal: Proposal, own: str, known: Collection[str]) -> bool:
        """Whether a proposal is for what this file says, with all `known` peers if it names none.

        The initiator and the owner itself need not be named among the participants. How long it
        may last, and how soon others must take a call, is the initiator's affair.
        """
        named = {*(self.participants or known), proposal.initiator, own}
        return proposal.task == self.task and named == set(proposal.participants)


def load_session_file(path: Path) -> SessionFile:
    """Read and validate a session file. Raises ConfigError naming every mistake."""
    content = read_toml(path, "session", "Name it with --peers.")
    try:
        return SessionFile.model_validate(content)
    except ValidationError as error:
        raise all_mistakes(error, f"session file {path}", "docs/peers.md") from None


def proposal_of(file: SessionFile, site: Site, random_bytes: Callable[[int], bytes]) -> Proposal:
    """Return the proposal that a session file asks this owner to make. Raises ConfigError."""
    known = [peer.name for peer in site.peer.known]
    wanted = [name for name in file.participants or known if name != site.owner]
    try:
        return Proposal(
            session=random_bytes(_SESSION_BYTES).hex(),
            study=site.peer.study,
            initiator=site.owner,
            participants=[site.owner, *wanted],
            task=file.task,
            seconds=file.seconds,
        )
    except ValidationError as error:
        raise all_mistakes(error, "session file", "docs/peers.md") from None

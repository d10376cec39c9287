"""`peers.toml`: the initiator's description of a session, validated as a whole."""

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
    """The content of `peers.toml`. Without `participants`, all known peers take part."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    participants: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    seconds: _Seconds = WaitingTimes.work
    connect_seconds: _Seconds = WaitingTimes.connect
    task: TaskMessage

    def patient(self, environment: Environment) -> Environment:
        """Return the environment with this file's waiting times for other owners."""
        patience = replace(environment.patience, work=self.seconds, connect=self.connect_seconds)
        return replace(environment, patience=patience)

    def allows(self, proposal: Proposal, own: str, known: Collection[str]) -> bool:
        """Whether a proposal matches this file. If the file lists no participants, all `known`
        peers count as listed.

        The list need not include the initiator or this owner. Time limits need not match, because
        the initiator alone decides on them.
        """
        named = {*(self.participants or known), proposal.initiator, own}
        return proposal.task == self.task and named == set(proposal.participants)


def load_session_file(path: Path) -> SessionFile:
    """Read and validate a session file. Raises ConfigError with all mistakes."""
    content = read_toml(path, "session", "Name it with --peers.")
    try:
        return SessionFile.model_validate(content)
    except ValidationError as error:
        raise all_mistakes(error, f"session file {path}", "docs/peers.md") from None


def proposal_of(file: SessionFile, site: Site, random_bytes: Callable[[int], bytes]) -> Proposal:
    """Return the proposal of this owner for the session in a session file. Raises ConfigError."""
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

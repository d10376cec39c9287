"""Opens an owner for sessions: its identity, its known peers, and connections to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from owner_agent.peer.exchange.outgoing import Consent
from owner_agent.peer.member import Notify
from owner_agent.peer.participant import Participant
from owner_agent.peer.protocol.identity import load_identity, pinned
from owner_agent.peer.protocol.steps import Peer
from owner_agent.peer.remote import RemotePartner
from owner_agent.peer.session_results import all_kept, staged_in
from owner_agent.site.planning import planned
from owner_agent.site.site import Site, load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import ConfigError


@contextmanager
def opened(
    path: Path,
    environment: Environment,
    notify: Notify,
    accepts: Consent = Consent(),  # noqa: B008 - frozen
) -> Iterator[Participant]:
    """Open this owner for sessions; its connections are closed in the end.

    Raises ConfigError, KeyFileError.
    """
    site = load_site(path)
    if site.file.study_plan is not None:
        raise ConfigError(
            "Sessions of peers follow no study plan: no sum of theirs counts its coin.",
            where="study_plan",
            remedy="Learn by the miner of the study, or use a site file without [study_plan].",
        )
    planned(site)
    _finish_written(site)
    identity, known = load_identity(site), pinned(site)
    with ExitStack() as stack:
        partners: dict[str, Peer] = {
            peer.name: stack.enter_context(
                RemotePartner(peer, known[peer.name], identity, environment)
            )
            for peer in site.peer.known
        }
        yield Participant(
            site,
            path,
            identity,
            known,
            environment,
            partners.__getitem__,
            notify,
            accepts=accepts,
        )


def _finish_written(site: Site) -> None:
    """Give results their name that all had agreed to when the process was stopped."""
    for kept in all_kept(site.state):
        if kept.agreed is not None:
            staged_in(site.folder / site.peer.results, kept.proposal.session).publish()

"""An owner made ready for sessions: its identity, its known peers, and connections to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from owner_agent.peer.exchange.consent import Consent
from owner_agent.peer.identity.identity import load_identity, pinned
from owner_agent.peer.members.member import Tell
from owner_agent.peer.members.participant import Participant
from owner_agent.peer.protocol.partner import Peer
from owner_agent.peer.session.journal import all_kept
from owner_agent.peer.session.staging import staged_in
from owner_agent.peer.transport.remote import RemotePartner
from owner_agent.site.planning import planned
from owner_agent.site.site import Site, load_site
from owner_agent.state.surroundings import Surroundings


@contextmanager
def opened(
    path: Path,
    surroundings: Surroundings,
    tell: Tell,
    accepts: Consent = Consent(),  # noqa: B008 - frozen
) -> Iterator[Participant]:
    """Open this owner for sessions; its connections are closed in the end.

    Args:
        path: the site file, checked whole before anybody is answered.
        surroundings: transport, clock, patience and randomness.
        tell: told what a person at this owner may want to know.
        accepts: what the custodian agrees to beforehand.

    Raises:
        ConfigError: the site file or a certificate is wrong.
        KeyFileError: there is no identity, or it is unsafe.
    """
    site = load_site(path)
    planned(site)
    _finish_written(site)
    identity, known = load_identity(site), pinned(site)
    with ExitStack() as stack:
        partners: dict[str, Peer] = {
            peer.name: stack.enter_context(
                RemotePartner(peer, known[peer.name], identity, surroundings)
            )
            for peer in site.peer.known
        }
        yield Participant(
            site,
            path,
            identity,
            known,
            surroundings,
            partners.__getitem__,
            tell,
            accepts=accepts,
        )


def _finish_written(site: Site) -> None:
    """Give results their name that all had agreed to when the process was stopped."""
    for kept in all_kept(site.state):
        if kept.agreed is not None:
            staged_in(site.folder / site.peer.results, kept.proposal.session).publish()

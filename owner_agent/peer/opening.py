"""An owner made ready for sessions: its identity, its known peers, and connections to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from owner_agent.peer.identity import load_identity, pinned
from owner_agent.peer.participant import Participant, Tell
from owner_agent.peer.partner import Partner
from owner_agent.peer.remote import RemotePartner
from owner_agent.planning import planned
from owner_agent.site import Site
from owner_agent.surroundings import Surroundings


@contextmanager
def opened(
    site: Site,
    surroundings: Surroundings,
    tell: Tell,
    patience: float,
    *,
    accept_added_loss: bool,
) -> Iterator[Participant]:
    """Open this owner for sessions; its connections are closed in the end.

    Args:
        site: the site, checked whole before anybody is answered.
        surroundings: transport, clock and randomness.
        tell: told what a person at this owner may want to know.
        patience: seconds to wait for another owner's work.
        accept_added_loss: whether columns may leave that left before under other draws.

    Raises:
        ConfigError: the site file or a certificate is wrong.
        KeyFileError: there is no identity, or it is unsafe.
    """
    planned(site)
    identity, known = load_identity(site), pinned(site)
    with ExitStack() as stack:
        partners: dict[str, Partner] = {
            peer.name: stack.enter_context(
                RemotePartner(peer, known[peer.name], identity, surroundings, patience)
            )
            for peer in site.peer.known
        }
        yield Participant(
            site,
            identity,
            known,
            surroundings,
            partners.__getitem__,
            tell,
            accept_added_loss=accept_added_loss,
        )

"""Joining a study: an invitation becomes a token."""

from __future__ import annotations

from owner_agent.release.client import Miner
from owner_agent.site.site import Site
from owner_agent.state.private_files import private_directory
from owner_agent.state.surroundings import Surroundings
from owner_agent.state.tokens import TokenStore
from shared.errors import ConfigError, OptionError
from shared.wire.people import InvitationAccept, TokenIssued


def join(site: Site, secret: str, surroundings: Surroundings) -> TokenIssued:
    """Accept an invitation at the site's miner and store the token.

    Raises:
        OptionError: the text is not an invitation secret.
        ConfigError: the invitation was for another owner or study than the site file says; its
            token is stored all the same, as it is given only once.
        Refused: the miner knows no such invitation, or it is used up or expired.
        Unreachable: the miner did not answer.
    """
    try:
        InvitationAccept(secret=secret)
    except ValueError:
        raise OptionError(
            "That is not an invitation secret: it must have 16 to 256 characters.",
            where="secret",
            remedy="Paste the whole secret of the invitation.",
        ) from None
    # Before the invitation is used up: the token must have a safe place to go.
    private_directory(site.state)
    with Miner(site.miner.url, None, surroundings) as miner:
        issued = miner.accept(secret)
    TokenStore(site.state).save(issued.study, issued.token)
    if (issued.study, issued.name) != (site.miner.study, site.owner):
        raise ConfigError(
            f"The invitation was for owner {issued.name!r} in study {issued.study!r}; the site"
            f" file says {site.owner!r} in {site.miner.study!r}. The token was stored.",
            where="miner.study" if issued.study != site.miner.study else "owner",
            remedy="Correct the site file.",
        )
    return issued

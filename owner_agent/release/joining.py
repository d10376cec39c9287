"""Joining a study: exchanging an invitation for a token."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from owner_agent.release.client import Miner
from owner_agent.site.site import Site
from owner_agent.state.audit import noted
from owner_agent.state.environment import Environment
from owner_agent.state.tokens import TokenStore
from pramana_core.errors import ConfigError, OptionError, TransportError
from pramana_core.wire.privacy import InvitationAccept, InvitationFile, TokenIssued


def read_invitation(path: Path) -> InvitationFile:
    """Return the invitation in a file. Raises OptionError, quoting neither name nor content."""
    try:
        return InvitationFile.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # The argument may be the secret itself, so it is not repeated.
        raise OptionError(
            "The invitation file does not exist, or it is not an invitation.",
            where="invitation",
            remedy="Check the path; it is the file that you got from the study's operator. A bare"
            " secret is not accepted as an argument, since the process list and the shell's history"
            " would reveal it: put it into a file (--secret-file FILE).",
        ) from None


def join(site: Site, secret: str, environment: Environment) -> TokenIssued:
    """Accept an invitation at the site's miner and store the token.

    Raises OptionError, Refused, Unreachable, or ConfigError if the invitation was for another owner
    or study.
    """
    try:
        InvitationAccept(secret=secret)
    except ValueError:
        raise OptionError(
            "This is not an invitation secret, which has 16 to 256 characters.",
            where="secret",
            remedy="Copy the whole secret of the invitation.",
        ) from None
    # The token needs a safe place before the invitation is used up.
    with noted(site.state, environment.now(), "join", miner=site.miner.url, study=site.miner.study):
        with Miner.of(site, None, environment) as miner:
            issued = miner.accept(secret)
        if issued.study is None:
            raise TransportError("The miner issued a token without a study.")
        TokenStore(site.state).save(issued.study, issued.token, issued.expires)
    if (issued.study, issued.name) != (site.miner.study, site.owner):
        raise ConfigError(
            f"The invitation was for owner {issued.name!r} in study {issued.study!r}; the site"
            f" file says {site.owner!r} in {site.miner.study!r}. The token was stored.",
            where="miner.study" if issued.study != site.miner.study else "owner",
            remedy="Correct the site file.",
        )
    return issued

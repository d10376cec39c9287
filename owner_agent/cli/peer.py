"""The commands for learning without a miner: `peer`, `agree` and `learn`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import (
    SITE,
    CorrectionsOption,
    JsonOption,
    SiteOption,
    environment_of,
)
from pramana_core.errors import OptionError, PramanaError
from pramana_core.terminal import console, print_json, progress_bar

if TYPE_CHECKING:
    from owner_agent.peer.exchange.outgoing import Consent
    from owner_agent.peer.joint import JointOutcome
    from owner_agent.state.environment import Environment

AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-added-loss",
        help="Send columns although they left under other draws; their epsilons add.",
    ),
]


def peer(
    context: typer.Context,
    site: SiteOption = SITE,
    ready_file: Annotated[
        Path | None, typer.Option(help="A file for url and pid once it accepts calls.")
    ] = None,
    only: Annotated[
        Path | None,
        typer.Option(help="A session file: take part in sessions like it, and in no others."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option("--ask", help="Take part only in what you said yes to: `owner-agent agree`."),
    ] = False,
    accept_added_loss: AcceptOption = False,
    corrections: CorrectionsOption = None,
) -> None:
    """Take part in sessions that the known peers begin, until stopped."""
    from owner_agent.peer.app import PeerServer
    from owner_agent.peer.exchange.outgoing import Consent
    from owner_agent.peer.protocol.messages import load_session_file
    from owner_agent.peer.remote import opened

    agreed = None if only is None else load_session_file(only)
    consent = Consent(accept_added_loss, corrections)
    with opened(site, environment_of(context), _tell, consent) as participant:
        participant.only, participant.asks = agreed, ask
        fingerprint = participant.identity.public.fingerprint
        listen = participant.site.peer.listen
        _tell(f"{participant.name} listens on {listen} as {fingerprint}.")
        PeerServer(participant, ready_file).serve_until_stopped()


def agree(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="What is decided about: its key, or how that begins.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take part in it, once.")] = False,
    no: Annotated[bool, typer.Option("--no", help="Do not take part in it.")] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """List the sessions that wait for your yes, and what it would reveal; or say yes or no."""
    from owner_agent.cli.sessions_shown import asked_json, show_asked
    from owner_agent.peer.asked import asked_sessions, decide
    from owner_agent.site.site import load_site

    if (session is None) == (yes or no) or (yes and no):
        raise OptionError(
            "A session is decided about by its key and one of --yes and --no.",
            where="session",
            remedy="Without all of them `owner-agent agree` lists what waits.",
        )
    opened_site = load_site(site)
    if session is not None:
        found = [o for o in asked_sessions(opened_site.state) if o.key.startswith(session)]
        if len(found) > 1:
            raise OptionError(
                f"{len(found)} sessions that wait begin with {session}.",
                where="session",
                remedy="Give more of the key.",
            )
        key = found[0].key if found else session
        now = environment_of(context).now()
        decide(opened_site, key, "accepted" if yes else "refused", now)
    asked = asked_sessions(opened_site.state)
    if json:
        print_json({"sessions": [asked_json(opened_site, one) for one in asked]})
    else:
        show_asked(console(), opened_site, asked)


def learn(
    context: typer.Context,
    peers: Annotated[Path, typer.Option(help="The session file: what to learn, with whom.")],
    site: SiteOption = SITE,
    accept_added_loss: AcceptOption = False,
    corrections: CorrectionsOption = None,
    json: JsonOption = False,
) -> None:
    """Begin a session with the known peers, and learn together."""
    from owner_agent.cli.sessions_shown import outcome_json, show_outcome
    from owner_agent.peer.exchange.outgoing import Consent

    consent = Consent(accept_added_loss, corrections)
    outcome = _session(site, environment_of(context), peers, consent)
    print_json(outcome_json(outcome)) if json else show_outcome(console(), outcome)


def _session(path: Path, environment: Environment, peers: Path, consent: Consent) -> JointOutcome:
    """Run one session; SIGTERM ends it as Ctrl-C does. Raises PramanaError."""
    from owner_agent.cli.sessions_shown import STEPS
    from owner_agent.peer.app import PeerServer
    from owner_agent.peer.joint import run_session
    from owner_agent.peer.protocol.messages import load_session_file, proposal_of
    from owner_agent.peer.protocol.steps import stopped_like_interrupted
    from owner_agent.peer.remote import opened
    from owner_agent.site.site import load_site

    site, file = load_site(path), load_session_file(peers)
    proposal = proposal_of(file, site, environment.random_bytes)
    with (
        stopped_like_interrupted(),
        opened(path, file.patient(environment), _silent, consent) as participant,
        participant.leading(proposal),
        PeerServer(participant).beside(),
        progress_bar(patience=0) as bar,
    ):
        try:
            return run_session(
                participant,
                proposal,
                lambda step, done, total: bar.stage(STEPS[step], done, total),
            )
        except PramanaError as error:
            # What is wrong here may be said here, though the others were told less.
            raise participant.own_error or error from None
        finally:
            if participant.miner_not_asked is not None:
                _tell(participant.miner_not_asked)


def _tell(line: str) -> None:
    console(stderr=True).print(line, markup=False, soft_wrap=True)


def _silent(_line: str) -> None:
    """Tell nobody: the command itself says how its session ended."""

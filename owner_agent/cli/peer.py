"""The commands for learning without a miner: `peer`, `learn` and `keys identity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from owner_agent.peer.exchange.consent import Consent
from owner_agent.peer.identity.identity import make_identity
from owner_agent.site.corrections import HELP, Choice
from owner_agent.site.site import load_site
from owner_agent.state.private_files import write_new
from owner_agent.state.surroundings import Surroundings
from shared.errors import KeyFileError, PramanaError
from shared.terminal import console, print_json

SiteOption = Annotated[Path, typer.Option("--site", help="The site file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")]
AcceptOption = Annotated[
    bool,
    typer.Option(
        "--accept-added-loss",
        help="Send columns although they left under other draws; their epsilons add.",
    ),
]
CorrectionsOption = Annotated[Choice | None, typer.Option(help=HELP)]
SITE = Path("site.toml")


def add_peer_commands(app: typer.Typer, surroundings: Surroundings) -> None:
    """Add the commands that serve and begin sessions."""

    @app.command()
    def peer(
        site: SiteOption = SITE,
        ready_file: Annotated[
            Path | None, typer.Option(help="Written with url and pid once it accepts calls.")
        ] = None,
        only: Annotated[
            Path | None,
            typer.Option(help="A session file: take part in sessions like it, and in no others."),
        ] = None,
        accept_added_loss: AcceptOption = False,
        corrections: CorrectionsOption = None,
    ) -> None:
        """Take part in sessions that the known peers begin, until stopped."""
        accepts = Consent(accept_added_loss, corrections)
        serve_peer(site, surroundings, ready_file, only, accepts)

    @app.command()
    def learn(
        peers: Annotated[Path, typer.Option(help="The session file: what to learn, with whom.")],
        site: SiteOption = SITE,
        accept_added_loss: AcceptOption = False,
        corrections: CorrectionsOption = None,
        json: JsonOption = False,
    ) -> None:
        """Begin a session with the known peers, and learn together."""
        accepts = Consent(accept_added_loss, corrections)
        begin_session(site, surroundings, peers, accepts, json=json)


def add_identity_command(app: typer.Typer, surroundings: Surroundings) -> None:
    """Add the command that makes an owner's identity among its peers."""

    @app.command()
    def identity(
        certificate: Annotated[
            Path | None, typer.Option(help="A new file for the certificate, to hand to the others.")
        ] = None,
        site: SiteOption = SITE,
        json: JsonOption = False,
    ) -> None:
        """Make this owner's identity among its peers, or show it; the key never leaves."""
        made = make_identity(load_site(site), surroundings.now()).public
        if certificate is not None:
            _export(made.pem, certificate)
        if json:
            print_json({"owner": made.name, "fingerprint": made.fingerprint})
            return
        console().print(f"{made.name} {made.fingerprint}", markup=False, soft_wrap=True)
        if certificate is not None:
            console().print(f"Wrote {certificate}.", markup=False, soft_wrap=True)


def serve_peer(
    site: Path,
    surroundings: Surroundings,
    ready_file: Path | None,
    only: Path | None,
    accepts: Consent,
) -> None:
    """Serve until stopped. Raises ConfigError, KeyFileError, OptionError."""
    # The server is large and the other commands do not need it.
    from owner_agent.peer.protocol.session_file import SECONDS, load_session_file
    from owner_agent.peer.transport.connections import opened
    from owner_agent.peer.transport.serving import PeerServer

    agreed = None if only is None else load_session_file(only)
    with opened(site, surroundings, _tell, SECONDS, accepts) as participant:
        participant.only = agreed
        fingerprint = participant.identity.public.fingerprint
        listen = participant.site.peer.listen
        _tell(f"{participant.name} listens on {listen} as {fingerprint}.")
        PeerServer(participant, ready_file).serve_until_stopped()


def begin_session(
    path: Path, surroundings: Surroundings, peers: Path, accepts: Consent, *, json: bool
) -> None:
    """Run one session, and print what came of it; SIGTERM ends it as Ctrl-C does.

    Raises PramanaError.
    """
    from owner_agent.cli.display import progress
    from owner_agent.cli.peer_display import STEPS, outcome_json, show_outcome
    from owner_agent.peer.members.joint import run_session
    from owner_agent.peer.protocol.session_file import load_session_file, proposal_of
    from owner_agent.peer.protocol.waiting import stopped_like_interrupted
    from owner_agent.peer.transport.connections import opened
    from owner_agent.peer.transport.serving import PeerServer

    site, file = load_site(path), load_session_file(peers)
    proposal = proposal_of(file, site, surroundings.random_bytes)
    with (
        stopped_like_interrupted(),
        opened(
            path,
            surroundings,
            _silent,
            file.seconds,
            accepts,
            connect_seconds=file.connect_seconds,
        ) as participant,
        participant.leading(proposal),
        PeerServer(participant).beside(),
        progress(console(stderr=True), STEPS) as watch,
    ):
        try:
            outcome = run_session(participant, proposal, watch)
        except PramanaError as error:
            # What is wrong here may be said here, though the others were told less.
            raise participant.own_error or error from None
    print_json(outcome_json(outcome)) if json else show_outcome(console(), outcome)


def _export(pem: bytes, path: Path) -> None:
    try:
        write_new(path, pem)
    except FileExistsError:
        if path.read_bytes() != pem:
            raise KeyFileError(
                f"{path} exists and is another file; it was not changed.",
                where=str(path),
                remedy="Name a new file.",
            ) from None


def _tell(line: str) -> None:
    console(stderr=True).print(line, markup=False, soft_wrap=True)


def _silent(_line: str) -> None:
    """Tell nobody: the command itself says how its session ended."""

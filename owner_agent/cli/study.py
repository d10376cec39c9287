"""A site's part in a study, beside its releases: `join`, `token`, `study-plan`, and `serve`.

`join` goes from an invitation to a site that follows the study's plan; `serve` has the owner's
pages.
`study-plan` reads the plan of the whole study, from the miner or from a file.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, environment_of
from pramana_core.errors import ConfigError, OptionError, Unauthenticated
from pramana_core.terminal import at_terminal, console, print_json, report_error

if TYPE_CHECKING:
    from owner_agent.report.study import PeopleStatement
    from owner_agent.site.adopting import AdoptedPlan
    from owner_agent.site.site import Site
    from owner_agent.state.environment import Environment
    from owner_agent.state.keys import KeyName
    from pramana_core.wire.privacy import InvitationFile


def serve(
    context: typer.Context,
    site: SiteOption = SITE,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8100,
    ready_file: Annotated[
        Path | None, typer.Option(help="A file for url and pid once it accepts requests.")
    ] = None,
) -> None:
    """Serve your pages to a browser on this machine alone, until Ctrl-C.

    The link that it prints works once.
    """
    from owner_agent.http import ListenAddress, serve_agent
    from owner_agent.pages.app import add_pages

    listen = ListenAddress(host, port, ready_file=ready_file)
    serve_agent(site, environment_of(context), listen, add_pages)


app = typer.Typer(help="Read what the plan of the whole study says of this owner.")


@app.callback()
def _study_plan() -> None:
    """Read what the plan of the whole study says of this owner."""


@app.command()
def show(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="The plan's file, instead of the site file's.")
    ] = None,
    miner: Annotated[bool, typer.Option("--miner", help="The plan that the miner has.")] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Say what the plan bounds, what this owner reports by it, how often and with whom."""
    from owner_agent.release.agreement import agreed_plan
    from owner_agent.site.adopting import AdoptedPlan, read_study_plan
    from owner_agent.site.site import load_site

    if file is not None and miner:
        raise OptionError("Give a file or --miner, not both.", where="file")
    opened = load_site(site)
    if miner:
        plan = agreed_plan(opened, environment_of(context))
    else:
        plan = read_study_plan(file or _named(opened))
    _show(AdoptedPlan(plan, opened.owner), json=json)


def _named(site: Site) -> Path:
    if site.file.study_plan is None:
        raise ConfigError(
            "The site file names no study plan.",
            where="study_plan",
            remedy="Name its file, or show the miner's with --miner.",
        )
    return site.folder / site.file.study_plan.file


def _show(adopted: AdoptedPlan, *, json: bool) -> None:
    from owner_agent.report.plan import adopted_sections
    from owner_agent.site.adopting import adopted_json
    from pramana_core.report.terminal import print_sections

    if json:
        print_json(adopted_json(adopted))
    else:
        print_sections(adopted_sections(adopted), console(), console(stderr=True))


@dataclass
class Joining:
    """One call of `join`: what it was told, and what it did."""

    path: Path
    site: Site
    environment: Environment
    yes: bool
    asking: bool
    quiet: bool
    made: list[KeyName] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Tell a person; scripts that ask for JSON are told at the end."""
        if not self.quiet:
            console().print(text, markup=False, soft_wrap=True)


def join(
    context: typer.Context,
    invitation: Annotated[
        str | None, typer.Argument(metavar="[INVITATION]", help="The invitation's file.")
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="Instead, a file that holds the invitation's bare secret; - is standard input. No"
            " keys are made."
        ),
    ] = None,
    linkage: Annotated[
        Path | None,
        typer.Option(help="The file of the linkage secret that another owner handed over."),
    ] = None,
    new_linkage: Annotated[
        Path | None,
        typer.Option(help="As the first owner: a new file for the linkage secret, for the others."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Keep the study's plan, as it is shown.")
    ] = False,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Accept an invitation, make the keys that are missing, and read and keep the study's plan.

    Again is harmless: without an invitation it asks the miner for the plan once more. A plan is
    kept, that is named in the site file, only if you say yes. Nothing of the table is sent.
    """
    from owner_agent.site.site import load_site

    opened, invited = load_site(site), None
    if invitation is not None:
        if secret_file is not None:
            raise OptionError("Give an invitation or --secret-file, not both.", where="invitation")
        invited = _invitation(invitation)
        opened = _fitting(site, opened, invited)
    asking = at_terminal() and not (yes or json)
    now = Joining(site, opened, environment_of(context), yes, asking, json)
    _accept(now, invited, secret_file)
    if invited is not None:
        _name_miner(now)
    if secret_file is None:
        _make_keys(now, linkage, new_linkage)
    people = _people(now)
    adopted, kept = _plan(now)
    if json:
        print_json(_told(now, people, adopted, kept=kept))
    if people is not None and people.refused is not None:
        report_error(people.refused)


def _invitation(argument: str) -> InvitationFile:
    from owner_agent.release.joining import read_invitation

    path = Path(argument)
    if not path.is_file():
        # It may be a secret: it is not repeated.
        raise OptionError(
            "There is no invitation's file of that name. The secret itself is not taken as an"
            " argument: the list of processes and the shell's history would have it.",
            where="invitation",
            remedy="Name the file that you were given; a bare secret goes into a file"
            " (--secret-file F), or to standard input (--secret-file -).",
        )
    return read_invitation(path)


def _fitting(path: Path, site: Site, invitation: InvitationFile) -> Site:
    """Return the site with the invitation's miner. Raises ConfigError where it says otherwise."""
    from owner_agent.site.planning import ExtendedSite

    if site.file.miner is None:
        site = ExtendedSite.of(path, _miner_section(invitation)).site
    here = (site.owner, site.miner.study, site.miner.url.rstrip("/"))
    wanted = (invitation.owner, invitation.study, invitation.miner.rstrip("/"))
    if here != wanted:
        raise ConfigError(
            f"The invitation is for owner {invitation.owner!r} in study"
            f" {invitation.study!r} at {invitation.miner}; the site file says"
            f" {site.owner!r} in {site.miner.study!r} at {site.miner.url}."
            " It was not used.",
            where="miner" if here[0] == wanted[0] else "owner",
            remedy="Correct the site file, or ask for the right invitation.",
        )
    return site


def _miner_section(invitation: InvitationFile) -> dict[str, dict[str, str]]:
    return {"miner": {"url": invitation.miner, "study": invitation.study}}


def _accept(now: Joining, invitation: InvitationFile | None, secret_file: Path | None) -> None:
    """Take up the invitation, unless the site has joined before."""
    from owner_agent.release.joining import join as join_study

    study = now.site.miner.study
    if secret_file is None and _has_joined(now):
        now.say(f"This site has joined study {study} as {now.site.owner}.")
        return
    if invitation is None and secret_file is None:
        raise OptionError(
            "The invitation is not given, and this site has not joined the study.",
            where="invitation",
            remedy="Name its file: owner-agent join INVITATION.",
        )
    secret = invitation.secret if invitation is not None else _secret(secret_file)
    issued = join_study(now.site, secret, now.environment)
    now.say(f"Joined study {issued.study} as {issued.name}.")


def _has_joined(now: Joining) -> bool:
    """Whether the miner takes the token that is here."""
    from owner_agent.release.client import Miner
    from owner_agent.state.tokens import TokenStore

    study = now.site.miner.study
    try:
        token = TokenStore(now.site.state).load(study)
        with Miner.of(now.site, token, now.environment) as miner:
            miner.study(study)
    except Unauthenticated:
        return False
    return True


def _secret(file: Path | None) -> str:
    from pramana_core.text_files import read_text

    try:
        text = sys.stdin.read() if str(file) == "-" else read_text(Path(str(file)))
    except (OSError, UnicodeDecodeError):
        raise OptionError(f"The file {file} cannot be read as text.", where="secret-file") from None
    return text.strip()


def _name_miner(now: Joining) -> None:
    from owner_agent.site.planning import ExtendedSite
    from owner_agent.site.site import load_site

    if load_site(now.path).file.miner is None:
        miner = {"url": now.site.miner.url, "study": now.site.miner.study}
        ExtendedSite.of(now.path, {"miner": miner}).write()
        now.say(f"Named the miner in {now.path}.")


def _make_keys(now: Joining, linkage: Path | None, new_linkage: Path | None) -> None:
    """Make the draw key, and make or take over the linkage secret, where they are missing."""
    from owner_agent.release.client import Miner
    from owner_agent.state.keys import KeyStore, read_key
    from owner_agent.state.tokens import TokenStore

    store = KeyStore(now.site.state)
    if linkage is not None and new_linkage is not None:
        raise OptionError("Give --linkage or --new-linkage, not both.", where="linkage")
    if not store.path("draw").exists():
        store.create("draw", now.environment.random_bytes)
        now.made.append("draw")
        now.say(f"Made your draw key, {store.path('draw')}: it never leaves this site.")
    if linkage is not None:
        secret = read_key(linkage)
        if not store.path("linkage").exists() or store.read("linkage") != secret:
            store.add("linkage", secret)
            now.say("Took over the owners' linkage secret.")
    if new_linkage is not None:
        if not store.path("linkage").exists():
            store.create("linkage", now.environment.random_bytes)
            now.made.append("linkage")
        store.export_linkage(new_linkage)
        now.say(
            f"Made the owners' linkage secret. Hand {new_linkage} to the other owners, by a way"
            " that the miner does not see: owner-agent join INVITATION --linkage FILE."
        )
    if store.path("linkage").exists():
        return
    token = TokenStore(now.site.state).load(now.site.miner.study)
    with Miner.of(now.site, token, now.environment) as miner:
        people = miner.study(now.site.miner.study).people
    if people == "different":
        # Nobody's records are to be found at another owner.
        store.create("linkage", now.environment.random_bytes)
        now.made.append("linkage")
        now.say("Made a linkage secret of your own, as the owners hold different people.")
        return
    now.say(
        "The owners' linkage secret is missing: take it over with `owner-agent join --linkage"
        " FILE`, or make it, as the first owner, with `owner-agent join --new-linkage FILE`."
    )


def _people(now: Joining) -> PeopleStatement | None:
    """Say what the study says of its owners' people."""
    from owner_agent.report.study import people_of

    people = people_of(now.site, now.environment)
    if people is None or isinstance(people, str):
        return None
    now.say(people.sentence)
    return people


def _plan(now: Joining) -> tuple[AdoptedPlan | None, bool]:
    """Show the study's plan and keep it if she says yes; return it, and whether it is kept."""
    from owner_agent.release.client import Miner
    from owner_agent.report.plan import adopted_sections
    from owner_agent.site.adopting import AdoptedPlan
    from owner_agent.site.planning import planned, without_protection
    from owner_agent.state.tokens import TokenStore
    from pramana_core.report.terminal import print_sections

    study = now.site.miner.study
    with Miner.of(now.site, TokenStore(now.site.state).load(study), now.environment) as miner:
        plan = miner.study_plan(study)
    if plan is None:
        now.say("It has no study plan, or none yet: `owner-agent join` asks again.")
        return None, False
    adopted = AdoptedPlan(plan, now.site.owner)
    if not now.quiet:
        print_sections(adopted_sections(adopted), console(), console(stderr=True))
    if now.site.file.study_plan is not None:
        _require_same(now.site, adopted)
        now.say(f"It is the plan that {now.path} names.")
        return adopted, True
    if now.site.file.variables:
        adopted.part(planned(without_protection(now.site)).variables)
    if not (now.yes or (now.asking and typer.confirm("Keep this plan and report by it?"))):
        now.say("It is not kept. `owner-agent join --yes` keeps it, if you approve it.")
        return adopted, False
    file = _keep(now, adopted)
    now.say(f"Kept in {file}, and named in {now.path}. Next: owner-agent plan, then publish.")
    return adopted, True


def _require_same(site: Site, told: AdoptedPlan) -> None:
    from owner_agent.site.adopting import adopted, short
    from pramana_core.errors import StudyPlanNotFollowed

    section = site.file.study_plan
    assert section is not None  # noqa: S101 - it was asked before
    here = adopted(section, site.folder, site.owner).plan.digest
    if here != told.plan.digest:
        raise StudyPlanNotFollowed(
            f"The miner has the study plan {short(told.plan.digest)}, and the site file names"
            f" {short(here)}; nothing was changed.",
            where="study_plan",
            remedy="If you approve the new one, take [study_plan] out of the site file and join"
            " again. Another plan draws anew, and its loss adds to what left.",
        )


def _keep(now: Joining, adopted: AdoptedPlan) -> Path:
    """Write the plan beside the site file, and name it there, if the site can follow it."""
    from owner_agent.site.adopting import write_study_plan
    from owner_agent.site.planning import ExtendedSite, planned

    digest = adopted.plan.digest
    file = now.site.folder / "study-plan.json"
    if file.exists() and file.read_bytes() != adopted.plan.canonical_json() + b"\n":
        file = now.site.folder / f"study-plan-{digest[:12]}.json"
    write_study_plan(adopted.plan, file)
    section = {"study_plan": {"file": file.name, "digest": digest}}
    extended = ExtendedSite.of(now.path, section)
    if extended.site.file.variables:
        planned(extended.site)
    extended.write()
    return file


def _told(
    now: Joining, people: PeopleStatement | None, adopted: AdoptedPlan | None, *, kept: bool
) -> dict[str, Any]:
    from owner_agent.site.adopting import adopted_json
    from owner_agent.state.keys import KeyStore

    return {
        "study": now.site.miner.study,
        "owner": now.site.owner,
        "people": None if people is None else people.people,
        "keys": KeyStore(now.site.state).fingerprints(),
        "made": now.made,
        "plan": adopted_json(adopted),
        "kept": kept,
    }

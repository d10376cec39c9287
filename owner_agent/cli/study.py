"""The commands for taking part in a study: `join` and `serve`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from owner_agent.cli.options import SITE, SiteOption, environment_of
from owner_agent.healthcheck import PORT, require_healthy
from pramana_core.errors import ConfigError, OptionError, Refused, Unauthenticated
from pramana_core.terminal import at_terminal, console, report_error

if TYPE_CHECKING:
    from owner_agent.release.client import Miner
    from owner_agent.site.adopting import AdoptedPlan
    from owner_agent.site.site import Site
    from owner_agent.site.writing import ExtendedSite
    from owner_agent.state.environment import Environment
    from pramana_core.wire.privacy import InvitationFile


def serve(
    context: typer.Context,
    site: SiteOption = SITE,
    port: Annotated[int, typer.Option(help="The port of the pages; 0 selects a free port.")] = PORT,
    ready_file: Annotated[
        Path | None,
        typer.Option(help="A file that gets the url and the pid once the agent accepts requests."),
    ] = None,
) -> None:
    """Serve your pages to browsers on this machine only, until Ctrl-C.

    The command prints a link that works once.
    """
    from owner_agent.pages.serving import serve_pages

    serve_pages(site, environment_of(context), port, ready_file)


def healthcheck(
    port: Annotated[int, typer.Option(help="The port of `serve`.")] = PORT,
) -> None:
    """Check that the agent's pages on this machine respond; exit with code 4 if they do not."""
    require_healthy(port)


@dataclass
class Joining:
    """The state of one run of `join`."""

    path: Path
    site: Site
    environment: Environment
    yes: bool

    def say(self, text: str) -> None:
        """Print a sentence on one line without wrapping it, so that it can be copied."""
        console().print(text, markup=False, soft_wrap=True)

    def miner(self) -> Miner:
        """Return a client of the miner that uses the study's token. Raises Unauthenticated."""
        from owner_agent.release.client import Miner
        from owner_agent.state.tokens import TokenStore

        token = TokenStore(self.site.state).load(self.site.miner.study)
        return Miner.of(self.site, token, self.environment)


def join(
    context: typer.Context,
    invitation: Annotated[
        Path | None, typer.Argument(metavar="[INVITATION]", help="The file of the invitation.")
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="Instead of an invitation: a file with only the invitation's secret. No keys "
            "are created."
        ),
    ] = None,
    linkage: Annotated[
        Path | None,
        typer.Option(help="The file with the linkage secret from another owner."),
    ] = None,
    new_linkage: Annotated[
        Path | None,
        typer.Option(
            help="For the first owner: a new file for the linkage secret, to give to "
            "the other owners."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept the study's plan without asking.")
    ] = False,
    site: SiteOption = SITE,
) -> None:
    """Accept an invitation, create missing keys, and fetch and accept the study's plan.

    You can repeat the command. Without an invitation it fetches the plan again. The plan is
    accepted only with your approval. Nothing from the table is sent.
    """
    from owner_agent.report.study import PeopleStatement, people_of
    from owner_agent.site.site import load_site

    if invitation is not None and secret_file is not None:
        raise OptionError("Give an invitation or --secret-file, not both.", where="invitation")
    now = Joining(site, load_site(site), environment_of(context), yes)
    secret, extended = None, None
    if invitation is not None:
        invited, extended = _invited(now, invitation)
        secret = invited.secret
    elif secret_file is not None:
        secret = _bare_secret(secret_file)
    _accept(now, secret, again=secret_file is not None)
    if extended is not None:
        extended.write()
        now.say(f"Wrote the miner's address into {now.path}.")
    if secret_file is None:
        _make_keys(now, linkage, new_linkage)
    people = people_of(now.site, now.environment)
    statement = people if isinstance(people, PeopleStatement) else None
    if statement is not None:
        now.say(statement.sentence)
    follows = _plan(now)
    with now.miner() as miner:
        study = miner.study(now.site.miner.study)
    for step in study.next:
        others = [owner for owner in step.owners if not follows or owner != now.site.owner]
        if others != step.owners:
            now.say("Next, for you: owner-agent plan, then owner-agent publish.")
        if others or not step.owners:
            now.say(step.model_copy(update={"owners": others}).line)
    if statement is not None and statement.refused is not None:
        report_error(statement.refused)


def _invited(now: Joining, path: Path) -> tuple[InvitationFile, ExtendedSite | None]:
    """Return an invitation, and the site file with [miner] added if it lacked that section."""
    from owner_agent.release.joining import read_invitation
    from owner_agent.site.writing import ExtendedSite

    invitation, extended = read_invitation(path), None
    if now.site.file.miner is None:
        section = {"url": invitation.miner, "study": invitation.study}
        extended = ExtendedSite.of(now.path, {"miner": section})
        now.site = extended.site
    site = now.site
    here = (site.owner, site.miner.study, site.miner.url.rstrip("/"))
    wanted = (invitation.owner, invitation.study, invitation.miner.rstrip("/"))
    if here != wanted:
        raise ConfigError(
            f"The invitation is for owner {invitation.owner!r} in study {invitation.study!r} at"
            f" {invitation.miner}; the site file says {site.owner!r} in {site.miner.study!r} at"
            f" {site.miner.url}. The invitation was not used.",
            where="miner" if here[0] == wanted[0] else "owner",
            remedy="Correct the site file, or ask the study's operator for the right invitation.",
        )
    return invitation, extended


def _accept(now: Joining, secret: str | None, *, again: bool) -> None:
    """Accept the invitation. If the site has already joined, do so only if `again` is true."""
    from owner_agent.release.joining import join as join_study

    study = now.site.miner.study
    if not again:
        try:
            with now.miner() as miner:  # uses the stored token
                miner.study(study)
        except Unauthenticated:
            pass
        except Refused as error:  # a token that ended is replaced by an invitation
            if error.status != Unauthenticated.http_status or secret is None:
                raise
        else:
            now.say(f"This site has joined study {study} as {now.site.owner}.")
            return
    if secret is None:
        raise OptionError(
            "No invitation is given, and this site has not joined the study.",
            where="invitation",
            remedy="Name the invitation's file: owner-agent join INVITATION.",
        )
    issued = join_study(now.site, secret, now.environment)
    now.say(f"Joined study {issued.study} as {issued.name}.")


def _bare_secret(file: Path) -> str:
    from pramana_core.text_files import read_text

    try:
        return read_text(file).strip()
    except (OSError, UnicodeDecodeError):
        raise OptionError(f"The file {file} cannot be read as text.", where="secret-file") from None


def _make_keys(now: Joining, linkage: Path | None, new_linkage: Path | None) -> None:
    from owner_agent.release.ledger import Ledger
    from owner_agent.state.keys import KeyStore, read_key

    store = KeyStore(now.site.state)
    if linkage is not None and new_linkage is not None:
        raise OptionError("Give --linkage or --new-linkage, not both.", where="linkage")
    if not store.path("draw").exists():
        store.create("draw", now.environment.random_bytes)
        now.say(f"Created your draw key, {store.path('draw')}, which never leaves this site.")
    if linkage is not None:
        secret = read_key(linkage)
        if not store.path("linkage").exists() or store.read("linkage") != secret:
            if not any(entry.left for entry in Ledger(now.site.state).entries()):
                # Nothing was published with the secret that is here, if there is one.
                store.path("linkage").unlink(missing_ok=True)
            store.add("linkage", secret)
            now.say("Imported the owners' linkage secret.")
    if new_linkage is not None:
        if not store.path("linkage").exists():
            store.create("linkage", now.environment.random_bytes)
        store.export_linkage(new_linkage)
        now.say(
            f"Created the owners' linkage secret. Give {new_linkage} to the other owners without"
            " passing it to the miner. They run: owner-agent join INVITATION --linkage FILE."
        )
    if store.path("linkage").exists():
        return
    with now.miner() as miner:
        people = miner.study(now.site.miner.study).people
    if people == "different":
        # Records of different owners must not be linked.
        store.create("linkage", now.environment.random_bytes)
        now.say(
            "Created a linkage secret for this site only, because the owners have different people."
        )
        return
    now.say(
        "The owners' linkage secret is missing. Import it with `owner-agent join --linkage FILE`,"
        " or create it, as the first owner, with `owner-agent join --new-linkage FILE`."
    )


def _plan(now: Joining) -> bool:
    """Fetch the study's plan and keep it if approved; return whether the site follows it."""
    from owner_agent.report.plan import adopted_sections
    from owner_agent.site.adopting import AdoptedPlan
    from owner_agent.site.planning import planned, without_protection
    from pramana_core.report.terminal import print_sections

    with now.miner() as miner:
        plan = miner.study_plan(now.site.miner.study)
    if plan is None:
        now.say(
            "The study has no plan yet. Run `owner-agent join` again later to check. If no other"
            " owner has your people, none is needed: run `owner-agent design --gamma 19 --apply`."
        )
        return False
    adopted = AdoptedPlan(plan, now.site.owner)
    print_sections(adopted_sections(adopted), console(), console(stderr=True))
    if now.site.file.study_plan is not None:
        _require_same(now.site, adopted)
        now.say(f"This is the plan that {now.path} names.")
        return True
    if now.site.file.variables:
        adopted.part(planned(without_protection(now.site)).variables)
    if not (now.yes or (at_terminal() and typer.confirm("Accept this plan and report by it?"))):
        now.say("The plan was not accepted. If you approve it, run `owner-agent join --yes`.")
        return False
    now.say(f"Wrote {_keep(now, adopted)}, and its name into {now.path}.")
    return True


def _require_same(site: Site, current: AdoptedPlan) -> None:
    from owner_agent.site.adopting import adopted, short
    from pramana_core.errors import StudyPlanNotFollowed

    section = site.file.study_plan
    assert section is not None  # noqa: S101 - checked by the caller
    here = adopted(section, site.folder, site.owner).plan.digest
    if here != current.plan.digest:
        raise StudyPlanNotFollowed(
            f"The miner has the study plan {short(current.plan.digest)}, but the site file names "
            f"{short(here)}. Nothing was changed.",
            where="study_plan",
            remedy="If you approve the new plan, remove [study_plan] from the site file and join "
            "again. Under the new plan, records are randomized again, and the loss adds to the "
            "loss from earlier releases.",
        )


def _keep(now: Joining, adopted: AdoptedPlan) -> Path:
    """Write the plan next to the site file and name it there, if the site can follow the plan."""
    from owner_agent.site.planning import planned
    from owner_agent.site.writing import ExtendedSite
    from owner_agent.state.private_files import COMMON_MODE, save

    digest, content = adopted.plan.digest, adopted.plan.canonical_json() + b"\n"
    file = now.site.folder / "study-plan.json"
    if file.exists() and file.read_bytes() != content:
        file = now.site.folder / f"study-plan-{digest[:12]}.json"
    save(file, content, "file", COMMON_MODE)
    section = {"study_plan": {"file": file.name, "digest": digest}}
    extended = ExtendedSite.of(now.path, section)
    if extended.site.file.variables:
        planned(extended.site)
    extended.write()
    return file

"""`owner-agent keys`: this site's secrets, and its identity for peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from owner_agent.cli.options import SITE, JsonOption, SiteOption, environment_of
from pramana_core.errors import OptionError
from pramana_core.terminal import console, print_json

if TYPE_CHECKING:
    from owner_agent.state.keys import KeyStore

app = typer.Typer(help="Create, import, export and identify this site's secrets.")


KeyChoice = Literal["draw", "linkage"]


@app.command()
def create(
    context: typer.Context,
    linkage: Annotated[
        bool, typer.Option("--linkage", help="Create the linkage secret, as the first owner.")
    ] = False,
    site: SiteOption = SITE,
) -> None:
    """Create the draw key, which never leaves this site, and with --linkage the shared secret."""
    from owner_agent.state.ledger_file import used_draw_key

    store = _store(site)
    name: KeyChoice = "linkage" if linkage else "draw"
    again = name == "draw" and used_draw_key(store.state)
    store.create(name, environment_of(context).random_bytes)
    console().print(f"Made {store.path(name)}.", markup=False, soft_wrap=True)
    if again:
        console(stderr=True).print(
            "warning: this site had another draw key. If it published with that key, restore the"
            " state folder from your backup, or run `owner-agent new-epoch`.",
            markup=False,
            soft_wrap=True,
        )


@app.command(name="import")
def import_key(
    name: Annotated[KeyChoice, typer.Argument(help="Only `linkage` is shared.")],
    file: Annotated[Path, typer.Argument(help="A file of 64 hexadecimal digits.")],
    site: SiteOption = SITE,
) -> None:
    """Import the linkage secret from a file that only you can read."""
    from owner_agent.state.keys import read_key

    if name != "linkage":
        raise OptionError(
            "A draw key cannot be imported, because it may have been used elsewhere.",
            where="name",
            remedy="Restore the state directory from your backup, or create a key with"
            " `owner-agent keys create`.",
        )
    store = _store(site)
    store.add("linkage", read_key(file))
    console().print(f"Stored {store.path('linkage')}.", markup=False, soft_wrap=True)


@app.command()
def export(
    name: Annotated[KeyChoice, typer.Argument(help="Only `linkage` can be exported.")],
    file: Annotated[Path, typer.Argument(help="The new file.")],
    site: SiteOption = SITE,
) -> None:
    """Write the linkage secret to a file for another owner of the study."""
    if name != "linkage":
        raise OptionError(
            "The draw key never leaves this site.",
            where="name",
            remedy="To move the agent to another machine, copy the state directory.",
        )
    _store(site).export_linkage(file)
    console().print(f"Wrote {file}.", markup=False, soft_wrap=True)


@app.command()
def show(site: SiteOption = SITE, json: JsonOption = False) -> None:
    """Print the fingerprints of the secrets, which identify the secrets without revealing them."""
    prints = _store(site).fingerprints()
    if json:
        print_json(prints)
        return
    for name, value in prints.items():
        console().print(f"{name:8} {value or 'absent'}", markup=False)


@app.command()
def identity(
    context: typer.Context,
    certificate: Annotated[
        Path | None, typer.Option(help="A new file for the certificate, for the other owners.")
    ] = None,
    site: SiteOption = SITE,
    json: JsonOption = False,
) -> None:
    """Create or show this owner's identity for peers. The identity's key never leaves this site."""
    from owner_agent.peer.protocol.identity import make_identity
    from owner_agent.site.site import load_site
    from owner_agent.state.private_files import save

    made = make_identity(load_site(site), environment_of(context).now()).public
    if certificate is not None:
        save(certificate, made.pem, "certificate")
    if json:
        print_json({"owner": made.name, "fingerprint": made.fingerprint})
        return
    console().print(f"{made.name} {made.fingerprint}", markup=False, soft_wrap=True)
    if certificate is not None:
        console().print(f"Wrote {certificate}.", markup=False, soft_wrap=True)


def _store(site: Path) -> KeyStore:
    from owner_agent.site.site import load_site
    from owner_agent.state.keys import KeyStore

    return KeyStore(load_site(site).state)

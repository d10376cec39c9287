"""The `miner-service` command."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miner_service.cli.handing_over import require_writable, secret_in, where_it_is
from miner_service.cli.opening import (
    DEFAULT_DATA,
    DatabaseAddress,
    DataDir,
    LogForm,
    SettingsFile,
    note,
    on_store,
    opened,
    say,
    settings_of,
)
from miner_service.cli.operations import (
    backup_command,
    check_command,
    doctor_command,
    restore_command,
)
from miner_service.cli.study import study_commands
from miner_service.healthcheck import READY, require_healthy
from miner_service.logs import LogFormat, configure
from pramana_core.errors import Conflict, OptionError, PramanaError
from pramana_core.opening import require_tls_files
from pramana_core.terminal import application, console, run, with_examples

if TYPE_CHECKING:
    from miner_service.services import Services
    from miner_service.settings import Settings

log = logging.getLogger(__name__)

app = application("Pramana's miner: collects randomized releases and learns models from them.")

app.add_typer(study_commands(), name="study")
for command in (backup_command, restore_command, check_command, doctor_command):
    app.command(command.__name__.removesuffix("_command"))(command)
Workers = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Processes that each run one job at a time (default 2). With 0, only"
        " `miner-service worker` runs jobs.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        envvar="PRAMANA_SCHEDULER",
        help="A Dask scheduler, as tls://HOST:PORT, whose `cluster-worker`s count records. Without"
        " a scheduler, each job counts its own records.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(help="Write a new admin token to this file (mode 0600), which must not exist."),
]
ValidDays = Annotated[
    int | None,
    typer.Option(min=1, max=3650, help="Days until the token expires (default 365)."),
]


@app.command("serve")
def serve_command(
    data: DataDir = DEFAULT_DATA,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 selects a free one.")] = 8000,
    admin_token_file: TokenFile = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="Write URL and process id here when ready, as JSON.")
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Listen without TLS on an address that other machines can reach."
        ),
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Use TLS with this certificate and its chain (PEM).")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option(help="The certificate's private key (PEM).")
    ] = None,
    client_authority: Annotated[
        Path | None, typer.Option(help="Require client certificates signed by this one (PEM).")
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="PRAMANA_PUBLIC_URL",
            help="The address in invitations and access files, if people do not reach the miner at"
            " the address on which it listens.",
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            envvar="PRAMANA_TRUSTED_PROXY",
            help="An address or network of proxies; their X-Forwarded-For and -Proto are trusted.",
        ),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    database: DatabaseAddress = None,
    settings_file: SettingsFile = None,
    log_format: LogForm = LogFormat.TEXT,
) -> None:
    """Run the service until SIGTERM or Ctrl-C.

    Without a certificate, it uses plain HTTP and listens on this machine only.
    """
    settings = settings_of(
        data,
        database,
        settings_file,
        given={
            "jobs": {"workers": workers},
            "cluster": {"scheduler": scheduler},
            "web": {
                "certificate": certificate,
                "private_key": private_key,
                "client_authority": client_authority,
                "public_url": public_url,
                "trusted_proxies": trusted_proxy,
            },
        },
        host=host,
        port=port,
        allow_remote=allow_remote,
        log_format=log_format,
    )
    _serve(settings, admin_token_file, ready_file)


@app.command("healthcheck")
def healthcheck_command(
    url: Annotated[str, typer.Argument(help="The URL to check.")] = READY,
) -> None:
    """Check that the miner on this machine is ready; exit code 4 if not."""
    require_healthy(url)


@app.command("worker")
def worker_command(
    data: DataDir = DEFAULT_DATA,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes that each run one job at a time (default 2)."),
    ] = None,
    scheduler: Scheduler = None,
    database: DatabaseAddress = None,
    settings_file: SettingsFile = None,
    log_format: LogForm = LogFormat.TEXT,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C, in addition to the workers of the service itself.

    Workers may run on other machines with the same database. When a worker ends, its unfinished
    jobs are queued again.
    """
    from miner_service.jobs.supervisor import supervise

    settings = settings_of(
        data,
        database,
        settings_file,
        given={"jobs": {"workers": workers}, "cluster": {"scheduler": scheduler}},
        log_format=log_format,
    )
    _require_cluster(settings)
    configure(log_format)
    say(f"At most {settings.jobs.workers} processes run jobs.")
    supervise(settings)


@app.command("cluster-worker")
def cluster_worker_command(
    columns: Annotated[
        Path,
        typer.Option(help="The `columns` folder of the miner's records, without other data."),
    ],
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Pieces of records counted at once (default: one per core)."),
    ] = None,
    scheduler: Scheduler = None,
    settings_file: SettingsFile = None,
    log_format: LogForm = LogFormat.TEXT,
) -> None:
    """Count records for a miner's jobs on a Dask cluster, until SIGTERM or Ctrl-C.

    The worker reads columns of sealed releases and needs neither database nor token. It waits for
    an unavailable scheduler.
    """
    from miner_service.alignment.cluster import run_worker
    from miner_service.jobs.process import bound_memory
    from pramana_core.kernels.counting import processors

    settings = settings_of(Path(), None, settings_file, given={"cluster": {"scheduler": scheduler}})
    if settings.cluster.scheduler is None:
        raise OptionError(
            "No scheduler is configured.",
            where="scheduler",
            remedy="Set --scheduler, or scheduler under [cluster] in the settings.",
        )
    _require_cluster(settings)
    configure(log_format)
    bound_memory(settings.limits.job_bytes)
    run_worker(settings.cluster, columns, threads or processors())


def _require_cluster(settings: Settings) -> None:
    cluster, scheduler = settings.cluster, settings.cluster.scheduler
    if scheduler is None:
        return
    from miner_service.alignment.cluster import require_dask

    require_dask()
    if cluster.certificate is not None:
        require_tls_files(cluster.certificate, cluster.private_key, cluster.authority)
    if scheduler.startswith("tcp:"):
        console(stderr=True).print(
            f"warning: the connection to the scheduler {scheduler} is without TLS. Every user and"
            " program that can reach it, also on this machine, can run programs on the cluster. Use"
            " tls:// with certificates (docs/operations.md).",
            markup=False,
            soft_wrap=True,
        )


def _serve(settings: Settings, admin_token_file: Path | None, ready_file: Path | None) -> None:
    """Listen and serve. The file `ready_file` exists while requests are accepted."""
    from miner_service.http.app import create_app
    from miner_service.http.server import bind, exclusive, serve, url_of, write_ready_file
    from miner_service.jobs.workers import workers_of
    from miner_service.store.address import write_address

    _require_cluster(settings)
    web = settings.web
    if web.certificate is not None:
        require_tls_files(web.certificate, web.private_key, web.client_authority)
    if ready_file is not None:
        require_writable(ready_file, "ready-file")
    configure(settings.log_format)
    with exclusive(settings.data_dir):
        sock = bind(settings)
        url = url_of(sock, over_tls=web.certificate is not None)
        if ready_file:
            ready_file.unlink(missing_ok=True)
        first_token(settings, admin_token_file)

        def announce() -> None:
            write_address(settings, url)
            log.info("ready", extra={"version": version("pramana"), "url": url})
            if ready_file:
                write_ready_file(ready_file, url)
            say(f"The miner is ready at {url}")

        try:
            serve(create_app(settings, crew=workers_of), sock, web, announce=announce)
            log.info("stopped")
        finally:
            sock.close()
            if ready_file:
                ready_file.unlink(missing_ok=True)


@app.command("admin-token")
@on_store()
def admin_token_command(
    services: Services,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Issue a new token and revoke the old one.")
    ] = False,
    admin_token_file: TokenFile = None,
    valid_days: ValidDays = None,
) -> None:
    """Issue a new admin token and revoke the old one, also while the service runs."""
    if _has_token(services) and not rotate:
        raise Conflict(
            "An admin token exists. Only its hash is stored, so it cannot be shown again.",
            remedy="Issue a new token with --rotate, which revokes the old one immediately.",
        )
    _new_token(services, admin_token_file, valid_days)


@app.command("monitor-token")
@on_store()
def monitor_token_command(
    services: Services,
    name: Annotated[str, typer.Argument(help="The token's purpose, such as `prometheus`.")],
    token_file: Annotated[
        Path | None,
        typer.Option(help="Write the token to this new file (mode 0600) instead of showing it."),
    ] = None,
    valid_days: ValidDays = None,
) -> None:
    """Issue a token that can only read /metrics, and revoke older tokens with this name."""
    from miner_service.store.tokens import renew_monitor_token

    with ExitStack() as stack, services.audit.room(), services.database.write() as session:
        days = valid_days or services.settings.tokens.valid_days
        credential = renew_monitor_token(session, name, services.now(), days=days)
        if token_file is not None:
            stack.enter_context(secret_in(token_file, credential.text))
        note(services, "issue_monitor_token", None, 201)
    say(where_it_is("The monitor token", credential.text, token_file))


def first_token(settings: Settings, file: Path | None) -> None:
    """Check the store and, at its first start, issue the admin token."""
    from miner_service.store.identity import require_one_store

    with opened(settings) as services:
        services.segments.prepare()
        require_one_store(services.database, services.segments, begin=True)
        if _has_token(services):
            say("The admin token was issued at an earlier start; admin-token --rotate replaces it.")
            _check_audit_log(services)
        else:
            _new_token(services, file)


def _check_audit_log(services: Services) -> None:
    """Warn if the audit log is empty or cannot be written; write the first line of an empty one."""
    try:
        if services.audit.path.stat().st_size == 0:
            log.warning(
                "the audit log is empty and begins now; look for the file of any earlier log"
            )
            note(services, "begin_audit_log", None, 201)
        services.audit.require_room()
    except (PramanaError, OSError) as error:
        log.warning("changes are rejected, because the audit log cannot be written: %s", error)


def _has_token(services: Services) -> bool:
    from miner_service.store.tokens import admin_token_exists

    with services.database.read() as session:
        return admin_token_exists(session)


def _new_token(services: Services, file: Path | None, valid_days: int | None = None) -> None:
    """Issue an admin token, but only if its file can be written."""
    from miner_service.store.tokens import rotate_admin_token

    days = valid_days or services.settings.tokens.valid_days
    with ExitStack() as stack, services.audit.room(), services.database.write() as session:
        credential = rotate_admin_token(session, services.now(), days=days)
        if file is not None:
            stack.enter_context(secret_in(file, credential.text))
        note(services, "issue_admin_token", None, 201)
    say(where_it_is("The admin token", credential.text, file))


EXAMPLES = {
    "serve": "serve --admin-token-file admin.token",
    "study create": "study create nursery --owners family,means,care --people same",
    "study analyst": "study analyst nursery --access-file analyst.json",
    "study gateway": "study gateway lungs --name app --token-file gateway.token",
    "study show": "study show nursery --json",
    "study list": "study list --json",
    "study invite": "study invite nursery care --url https://miner.example.org",
    "study remove": "study remove nursery care",
    "study budget": "study budget nursery --max-epsilon-record 8",
    "study people": "study people nursery same",
    "study delete": "study delete nursery --yes",
    "study plan set": "study plan set nursery plan.json",
    "study plan show": "study plan show nursery",
    "study plan remove": "study plan remove nursery",
    "healthcheck": "healthcheck http://127.0.0.1:8000/healthz",
    "worker": "worker --workers 4 --database postgresql://miner@db/pramana",
    "cluster-worker": "cluster-worker --columns /srv/miner/columns --settings miner.toml",
    "admin-token": "admin-token --rotate --admin-token-file admin.token",
    "monitor-token": "monitor-token prometheus --token-file monitor.token",
    "backup": "backup backups/monday",
    "restore": "restore backups/monday --data new-data",
    "check": "check --json",
    "doctor": "doctor --settings miner.toml",
}
"""The examples that each command's `--help` shows. The program's own help shows the first one."""

with_examples(app, "miner-service", EXAMPLES)


def main() -> None:
    """Run the command line."""
    run(app, extra="miner")

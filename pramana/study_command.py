"""`pramana study`, an analyst's commands: start and watch jobs, fetch and use their models."""

from __future__ import annotations

import json as json_text
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pramana_core.alike import did_you_mean, first_few
from pramana_core.errors import OptionError, PramanaError
from pramana_core.terminal import console, print_json
from pramana_core.text_files import read_text

if TYPE_CHECKING:
    import pandas as pd

    from pramana.client.job import Job
    from pramana.client.study import Study
    from pramana_core.wire.privacy import AccessFile

HERE = Path("analyst.json")
"""The default access file."""

TOKEN = "PRAMANA_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable of the token. No option takes the token, since others could see it."""

VARIABLES = ("variables", "attributes", "features")
"""The fields with the variables to learn from, in any kind of job."""

COUNTED = ("records", "estimator", "order")
"""The arguments of `Study.run` other than the learner."""

_SENTENCE_END = r"(?<=\.)\s"

_ALIGNMENT = {"state", "in_all", "in_any", "missing", "secrets"}

app = typer.Typer(
    help="Learn at a miner as an analyst: start jobs, watch them, fetch and use their models."
    " Miner, study and token are in the access file that `miner-service study analyst` writes"
    " (--access, else PRAMANA_ACCESS, else analyst.json in this folder), or in the"
    " environment; no option takes the token itself.",
    no_args_is_help=True,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id in `jobs`.")]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Longest wait in seconds; the job continues at the miner.")
]


@dataclass(frozen=True)
class Way:
    """The connection to a study, as given by options and environment variables."""

    access: Path | None
    miner: str | None
    study: str | None
    token_file: Path | None
    ca_file: Path | None
    allow_insecure: bool


@app.callback()
def way(
    context: typer.Context,
    access: Annotated[
        Path | None,
        typer.Option(
            envvar="PRAMANA_ACCESS",
            help="The access file (mode 0600); the options below override it.",
        ),
    ] = None,
    miner: Annotated[
        str | None, typer.Option(envvar="PRAMANA_MINER", help="The miner's address.")
    ] = None,
    study: Annotated[
        str | None, typer.Option(envvar="PRAMANA_STUDY", help="The study's name.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="PRAMANA_TOKEN_FILE",
            help=f"File with the token; or set {TOKEN}.",
        ),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option(envvar="PRAMANA_CA_FILE", help="Authority of the miner's certificate (PEM)."),
    ] = None,
    allow_insecure: Annotated[
        bool,
        typer.Option(
            "--allow-insecure",
            envvar="PRAMANA_ALLOW_INSECURE",
            help="Allow plain http to carry the token over a private network.",
        ),
    ] = False,
) -> None:
    context.obj = Way(access, miner, study, token_file, ca_file, allow_insecure)


@app.command()
def show(context: typer.Context, json: JsonOption = False) -> None:
    """Show owners, releases, alignment, the disclosure of a record, and the next steps."""
    with _study(context) as study:
        owners, releases, disclosure = study.owners(), study.releases(), study.disclosure()
        aligned = study.alignment()
        if json:
            print_json(
                {
                    "study": study.name,
                    "title": study.title,
                    "people": study.people,
                    "owners": _rows(owners),
                    "releases": _rows(releases),
                    "alignment": aligned.model_dump(include=_ALIGNMENT),
                    "told": _rows(disclosure.to_frame()),
                    "left": disclosure.budget.left_for_record,
                    "warnings": list(disclosure.warnings),
                    "next": study.next_steps,
                }
            )
            return
        _say(f"Study {study.name}{f' ({study.title})' if study.title else ''} at {study.url}.")
        _table(releases, ["owner", "id", "kind", "state", "in_use", "records", "consistency"])
        for release in releases.to_dict("records"):
            if release["in_use"] and release["variables"]:
                _say(f"{release['owner']} reports {', '.join(release['variables'])}.")
        _say(f"Alignment: {aligned.describe()}.")
        _say(f"{disclosure}.")
        for warning in disclosure.warnings:
            _say(f"warning: {warning}")
        for step in study.next_steps:
            _say(step)


@app.command("kinds")
def kinds_command(
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]", help="The kind of job.")] = None,
    json: JsonOption = False,
) -> None:
    """List the kinds of jobs, or the options of one kind with their defaults."""
    from pramana.client.job import kinds

    known = kinds()
    if kind is None:
        if json:
            print_json({name: list(_options(message)) for name, message in known.items()})
            return
        for name, message in known.items():
            words = " ".join((message.__doc__ or "").split())
            _say(f"{name}: {re.split(_SENTENCE_END, words, maxsplit=1)[0]}")
        _say("`pramana study kinds KIND` lists the options of a kind.")
        return
    message = known[_known_kind(kind, known)]
    found = _options(message)
    if json:
        print_json(found)
        return
    for name, one in found.items():
        _say(f"{name}: required" if one["needed"] else f"{name} = {json_text.dumps(one['value'])}")
    words = (message.__doc__ or "").replace("`", "").replace("Args:", "Options:")
    about = " ".join(words.split())
    _say(f"\n{about}")


@app.command("run")
def run_command(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to learn; see `kinds`.")],
    target: Annotated[
        str | None, typer.Option(help="The variable to predict, if the kind has one.")
    ] = None,
    variable: Annotated[
        list[str] | None,
        typer.Option(metavar="VAR", help="A variable to learn from; all by default. Repeatable."),
    ] = None,
    records: Annotated[
        str | None,
        typer.Option(
            help=("Records to use if the owners have different records: identical, common or any.")
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="An option of the kind; VALUE is text, JSON, or @FILE with JSON. Repeatable.",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is finished.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="New file for the model's JSON, as `fetch` writes it; implies --wait."),
    ] = None,
    timeout: TimeoutOption = None,
    json: JsonOption = False,
) -> None:
    """Start a job; the defaults are those of `pm.connect(...).study(...).run`.

    Equal requests about the same reports return the same job. With --wait, the command waits and
    exits like `watch`.
    """
    from pramana.client.job import kinds, learner_of, spec_of

    known = kinds()
    given = _given(_known_kind(kind, known), known, target, variable or [], settings or [])
    if records is not None:
        given["records"] = records
    counts: dict[str, Any] = {name: given.pop(name) for name in COUNTED if name in given}
    try:
        spec = spec_of({"kind": kind, **given})
    except OptionError as error:
        if error.where in {"target", "variables"} - given.keys():
            with suppress(PramanaError), _study(context) as study:
                reported = sorted({*study.releases()["variables"].explode().dropna()})
                error.remedy = f"The study's variables are {first_few(reported, 12)}."
        elif any(one.partition("=")[0] == error.where for one in settings or []):
            error.add_note(f"option: --set {error.where}=...")
        raise
    if out is not None:
        _require_absent(out)
    with _study(context) as study:
        job: Job[Any]
        if kind == "contingency-table":
            job = study.table(given["variables"], groups=given.get("groups"), **counts)
        else:
            job = study.run(learner_of(spec), **counts)
        if wait or out is not None:
            _watched(job, timeout, study, out, json=json)
        elif json:
            print_json(job.as_dict())
        else:
            _say(f"Job {job.id} is {job.status}. Next: pramana study watch {job.id}")


@app.command()
def watch(
    context: typer.Context,
    job: JobArgument,
    timeout: TimeoutOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until a job is finished, and show its model. An interrupt does not cancel the job.

    The exit code is that of the error if the job failed, and 4 if the job was cancelled.
    """
    with _study(context) as study:
        _watched(study.job(job), timeout, study, json=json)


@app.command()
def cancel(context: typer.Context, job: JobArgument, json: JsonOption = False) -> None:
    """Stop a job at the miner, unless it is finished."""
    with _study(context) as study:
        stopped = study.job(job).cancel()
        if json:
            print_json(stopped.as_dict())
        else:
            _say(f"Job {stopped.id} is {stopped.status}.")


@app.command()
def jobs(context: typer.Context, json: JsonOption = False) -> None:
    """List the jobs, the oldest first."""
    with _study(context) as study:
        _listed(study.jobs(), ["id", "kind", "state", "progress", "model", "error"], json=json)


@app.command()
def models(context: typer.Context, json: JsonOption = False) -> None:
    """List the models that jobs have learned, the oldest first."""
    with _study(context) as study:
        _listed(study.models(), ["id", "kind", "job", "finished"], json=json)


@app.command()
def fetch(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's id in `models`.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help=("New file; by default MODEL.json, or MODEL with the extension of the form.")
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            help="json, the whole model; or, if the kind has that form, document, page, svg, bif,"
            " csv, itemsets.csv, rules.csv, text."
        ),
    ] = "json",
    json: JsonOption = False,
) -> None:
    """Write a model to a file; `pm.load` and `owner-agent predict` read the JSON form."""
    ends = {"document": "json", "page": "html", "text": "txt"}
    place = out or Path(f"{model}.{ends.get(form, form)}")
    _require_absent(place)
    with _study(context) as study:
        content = study.fetch(model, form)
    written = _write_new(place, content)
    if json:
        print_json({"model": model, "form": form, "file": str(place), "bytes": len(content)})
    else:
        _say(written)


@app.command()
def predict(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's id or file.")],
    table: Annotated[Path, typer.Argument(help="File of records: CSV, Parquet or a workbook.")],
    record_id: Annotated[str | None, typer.Option(help="The column of record ids.")] = None,
    out: Annotated[Path | None, typer.Option(help="New file for the predictions.")] = None,
    json: JsonOption = False,
) -> None:
    """Predict a class for local records. The command fetches the model and sends no record."""
    from tempfile import TemporaryDirectory

    from owner_agent.cli.reading import predict_by
    from owner_agent.table.predicting import RecordSource, read_model
    from owner_agent.table.table import detect

    file = Path(model)
    with TemporaryDirectory() as folder:
        if not file.is_file():
            with _study(context) as study:
                content = study.fetch(model)
            file = Path(folder) / "model.json"
            file.write_bytes(content)
        read = read_model(file)
    predict_by(read, Path(model).stem, RecordSource(detect(table), record_id), out, json=json)


@contextmanager
def _study(context: typer.Context) -> Iterator[Study]:
    from pramana.client.connecting import connect, require_same_miner

    known = context.find_object(Way)
    assert known is not None  # noqa: S101 - the group's callback sets it for every command
    token = os.environ.get(TOKEN)
    own = token is not None or known.token_file is not None
    file = _access(known, has_token=own)
    miner = known.miner or (None if file is None else file.miner)
    name = known.study or (None if file is None else file.study)
    for what, found in (("miner", miner), ("study", name)):
        if found is None:
            raise OptionError(
                f"The {what} is missing.",
                where=what,
                remedy=f"Name the access file with --access, or pass --{what}, or"
                f" PRAMANA_{what.upper()}.",
            )
    if file is not None:
        if known.miner is None and own and known.access is None:
            raise OptionError(
                f"The token does not come from {HERE}, so it may be for another miner.",
                where="miner",
                remedy=f"Pass --miner, or --access {HERE} if the token belongs to that miner.",
            )
        if not own:
            require_same_miner(file, str(miner))
            token = file.token
    with connect(
        str(miner),
        token=token,
        token_file=known.token_file,
        ca_file=known.ca_file,
        allow_insecure=known.allow_insecure,
    ) as line:
        yield line.study(str(name))


def _access(known: Way, *, has_token: bool) -> AccessFile | None:
    """Return the access file; None without a file, or if the options make it unnecessary."""
    from pydantic import ValidationError

    from owner_agent.state.private_files import refuse_if_open_to_others
    from pramana_core.wire.privacy import AccessFile

    path = known.access or HERE
    if known.access is None and (
        not path.is_file() or (has_token and known.miner is not None and known.study is not None)
    ):
        return None
    remedy = "Name the file that `miner-service study analyst STUDY --access-file FILE` wrote."
    try:
        refuse_if_open_to_others(path, f"chmod 600 {path}")
        return AccessFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise OptionError(
            f"The access file {path} cannot be read: {error.strerror}.",
            where="access",
            remedy=remedy,
        ) from None
    except ValidationError:
        # The cause would quote the token.
        raise OptionError(f"{path} is not an access file.", where="access", remedy=remedy) from None


def _known_kind(kind: str, known: Mapping[str, Any]) -> str:
    if kind in known:
        return kind
    raise OptionError(
        f"No kind of job is called {kind!r}{did_you_mean([kind], known)}.",
        where="kind",
        remedy=f"Kinds: {', '.join(known)}.",
    )


def _options(message: Any) -> dict[str, dict[str, Any]]:
    from pydantic_core import to_jsonable_python

    return {
        name: {
            "needed": field.is_required(),
            "value": None
            if field.is_required()
            else to_jsonable_python(field.get_default(call_default_factory=True)),
        }
        for name, field in message.model_fields.items()
        if name != "kind"
    }


def _given(
    kind: str,
    known: Mapping[str, Any],
    target: str | None,
    variables: Sequence[str],
    settings: Sequence[str],
) -> dict[str, Any]:
    """Return the fields of a job's message from the options. Raises OptionError."""
    fields = known[kind].model_fields
    found: dict[str, Any] = {}
    if target is not None:
        found[_field(kind, fields, "target", "target")] = target
    if variables:
        own = next((name for name in VARIABLES if name in fields), "variables")
        found[_field(kind, fields, own, "variable")] = list(variables)
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise OptionError(
                f"--set {setting!r} has no value.", where="set", remedy="Write --set NAME=VALUE."
            )
        first, *inner = name.strip().split(".")
        value = _value(text, fields[_field(kind, fields, first, "set")], whole=not inner)
        place = found
        for step in [first, *inner][:-1]:
            place = place.setdefault(step, {})
        place[[first, *inner][-1]] = value
    return found


def _field(kind: str, fields: Mapping[str, Any], name: str, option: str) -> str:
    known = [field for field in fields if field != "kind"]
    if name in known:
        return name
    raise OptionError(
        f"Jobs of the kind {kind} have no option {name!r}{did_you_mean([name], known)}.",
        where=option,
        remedy=(
            f"Their options are {', '.join(known)}. `pramana study kinds {kind}` describes them."
        ),
    )


def _value(text: str, field: Any, *, whole: bool) -> Any:
    from pydantic import TypeAdapter, ValidationError

    if text.startswith("@"):
        try:
            return json_text.loads(read_text(Path(text[1:])))
        except (OSError, ValueError):
            raise OptionError(f"The file {text[1:]} is not JSON.", where="set") from None
    try:
        values = [json_text.loads(text), text]
    except ValueError:
        return text
    wanted: TypeAdapter[Any] = TypeAdapter(field.annotation if whole else Any)
    for value in values:  # a category may be called 3
        with suppress(ValidationError):
            wanted.validate_python(value)
            return value
    return values[0]


def _watched(
    job: Job[Any], timeout: float | None, study: Study, out: Path | None = None, *, json: bool
) -> None:
    """Wait for a job, show its result and write its model to `out`. Raises the job's error."""
    job.wait(timeout)
    if json:
        done = job.status == "succeeded"
        worth = asdict(job.worth) if done and job.worth else None
        warnings = list(job.warnings) if done else []
        print_json({**job.as_dict(), "warnings": warnings, "worth": worth})
    made = job.model
    model = job.as_dict()["model"]
    written = None if out is None else _write_new(out, study.fetch(str(model)))
    if json:
        return
    if hasattr(made, "to_string"):
        _say(made.head(_SHOWN).to_string(index=False, float_format="{:.1f}".format))
        _say(_INTERVAL)
    else:
        _say(repr(made))
    if job.worth:
        _say("\n".join(filter(None, [job.worth.words, job.worth.supposes])))
    for warning in job.warnings:
        _say(f"warning: {warning}")
    page = f"{study.url}/pages/models/{model}"
    step = written or f"Its page is {page}. Next: pramana study fetch {model}"
    _say(f"Job {job.id} learned model {model}. {step}")


_INTERVAL = (
    "`count` is the estimate before any projection, with its 95 % interval from `low` to `high`."
    " The interval is cut to the possible counts, so a count below 0 lies outside it."
)

_SHOWN = 40
"""The largest number of cells printed of a table."""


def _listed(frame: pd.DataFrame, columns: list[str], *, json: bool) -> None:
    if json:
        print_json(_rows(frame))
    elif frame.empty:
        _say("No jobs yet. `pramana study run KIND` starts one.")
    else:
        _table(frame, columns)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    written = frame.to_json(orient="records", date_format="iso")
    rows: list[dict[str, Any]] = json_text.loads(written)
    return rows


_WRITTEN: dict[str, Callable[[Any], str]] = {
    "progress": lambda share: f"{share:.0%}",
    "records": lambda count: f"{count:,}",
    "in_use": lambda used: "in use" if used else "",
    "finished": lambda at: f"{at:%Y-%m-%d %H:%M}",
}


def _table(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    text = frame[list(columns)].astype(object).where(frame[list(columns)].notna(), None)
    for column in columns:
        write = _WRITTEN.get(column, str)
        text[column] = ["" if cell is None else write(cell) for cell in text[column]]
    _say(text.to_string(index=False))


def _write_new(out: Path, content: bytes) -> str:
    try:
        with out.open("xb") as file:
            file.write(content)
    except FileExistsError:
        _require_absent(out)
    except OSError as error:
        raise OptionError(f"{out} cannot be written: {error.strerror}.", where="out") from None
    return f"Wrote {out} ({len(content):,} bytes)."


def _require_absent(out: Path) -> None:
    if out.exists():
        raise OptionError(
            f"{out} exists; it was not changed.", where="out", remedy="Name a new file with --out."
        )


def _say(text: str) -> None:
    console().print(text, markup=False, soft_wrap=True)

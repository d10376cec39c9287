"""Pages of jobs: the list, a form for each kind, and a single job."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from miner_service.http.access.deps import CallerDep, CrewDep, JobPath, ServicesDep, StudyPath
from miner_service.http.access.routing import RuledRouter
from miner_service.http.endpoints import jobs, results
from miner_service.http.pages.job_forms import JobForm, form_of, job_forms, variables_of
from miner_service.http.pages.rendering import NewestDep, SentDep, page, read_message
from miner_service.services import Services
from miner_service.store.people import ADMIN, ANALYST, find_study, study_message
from miner_service.store.queue import UNFINISHED
from pramana_core.errors import PramanaError
from pramana_core.pages.forms import ROOT, SentForm
from pramana_core.wire.base import default_records
from pramana_core.wire.jobs import JobName

router = RuledRouter(prefix=ROOT, include_in_schema=False)

_CHOSEN_AT_ONCE = 400
"""Maximum number of variables that a form lists for selection; for more, names are typed."""


@router.get("/studies/{study}/jobs", name="list_jobs")
def show_jobs(
    request: Request, study: StudyPath, services: ServicesDep, caller: CallerDep, paging: NewestDep
) -> Response:
    """Show the jobs of a study, and the kinds of jobs."""
    found = jobs.list_jobs(study, services, caller, paging)
    return page(
        request,
        "jobs.html.j2",
        title=f"{study}: jobs",
        study=study,
        found=found,
        forms=list(job_forms().values()) if caller.role in (ADMIN, ANALYST) else [],
    )


@router.get("/studies/{study}/jobs/new", name="create_job")
def show_job_form(
    request: Request,
    study: StudyPath,
    services: ServicesDep,
    kind: Annotated[str, Query(max_length=64)],
) -> Response:
    """Show the form of a kind of job, filled with the fields in the address."""
    query = SentForm.of(request.url.query.encode())
    sent = SentForm({name: sent for name, sent in query.fields.items() if name != "kind"})
    return _form(request, services, study, form_of(kind), sent)


@router.post("/studies/{study}/jobs", name="create_job")
def create_job(
    request: Request, study: StudyPath, services: ServicesDep, crew: CrewDep, sent: SentDep
) -> Response:
    """Create a job."""
    form = form_of(sent.text("kind"))
    try:
        with services.database.read() as session:
            known = [name for name, _ in variables_of(session, study, form)]
        body = form.read(sent, known)
        answer = Response()
        job = jobs.create_job(study, body, services, crew, answer)
    except PramanaError as error:
        return _form(request, services, study, form, sent, error=error)
    return RedirectResponse(f"{ROOT}/jobs/{job.id}", 303)


@router.get("/jobs/{job}", name="read_job")
def show_job(request: Request, job: JobPath, services: ServicesDep, caller: CallerDep) -> Response:
    """Show a job; the page updates itself while the job runs."""
    answer = jobs.read_job(job, services, caller, Response())
    options = answer.spec.model_dump(mode="json", exclude_defaults=True)
    may_run, changes = caller.role in (ADMIN, ANALYST), []
    if answer.problem is not None and may_run:
        form, spec = form_of(answer.spec.kind), answer.spec.model_dump(mode="json")
        changes = form.remedied(form.fields_of(spec), answer.problem.remedy)
    return page(
        request,
        "job.html.j2",
        title=answer.name or f"Job {answer.id}",
        job=answer,
        options=options,
        kind=answer.spec.kind,
        runs=answer.state in UNFINISHED,
        may_cancel=answer.state in UNFINISHED and may_run,
        changes=changes,
    )


@router.post("/jobs/{job}/name", name="rename_job")
def rename_job(job: JobPath, services: ServicesDep, sent: SentDep) -> Response:
    """Rename a job and its model; show the model, or a job without model."""
    found = jobs.rename_job(job, read_message(JobName, {"name": sent.text("name")}), services)
    place = f"/models/{found.model}" if found.model else f"/jobs/{job}"
    return RedirectResponse(f"{ROOT}{place}", 303)


@router.post("/jobs/{job}/cancel", name="cancel_job")
def cancel_job(job: JobPath, services: ServicesDep, crew: CrewDep, _sent: SentDep) -> Response:
    """Cancel a job."""
    jobs.cancel_job(job, services, crew)
    return RedirectResponse(f"{ROOT}/jobs/{job}", 303)


def _form(
    request: Request,
    services: Services,
    study: str,
    form: JobForm,
    sent: SentForm,
    *,
    error: PramanaError | None = None,
) -> Response:
    with services.database.read() as session:
        variables = variables_of(session, study, form)
        people = study_message(find_study(session, study)).people
        alignment = results.read_alignment(study, services, request.state.caller)
    return page(
        request,
        "job-form.html.j2",
        title=f"{study}: new job",
        status=200 if error is None else error.http_status,
        study=study,
        form=form,
        variables=variables[:_CHOSEN_AT_ONCE],
        unlisted=max(len(variables) - _CHOSEN_AT_ONCE, 0),
        owners=[(owner, "") for owner in sorted({owner for _, owner in variables})],
        defaults={"records": default_records(people)},
        sent=sent,
        alignment=alignment,
        error=error,
        changes=[] if error is None else form.remedied(sent.fields, error.remedy),
    )

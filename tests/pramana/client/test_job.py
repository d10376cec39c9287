"""Jobs: waited for, cancelled, failed, and never made twice."""

from __future__ import annotations

import threading

import pytest

import pramana as pm
from miner_service.jobs.runner import learn_model
from pramana_core.errors import (
    EstimationError,
    JobCancelled,
    NotConverged,
    NotReady,
    RecordsDoNotAlign,
    VariablesMissing,
)
from pramana_core.plan import Plan

LEARNER = pm.NaiveBayes("survived")


class Held:
    """Learns as the miner does, but not before it is let go; it asks meanwhile if it may go on."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, spec, prepared, services, on_step):
        while not self.go.wait(0.005):
            on_step(1, 4)
        return learn_model(spec, prepared, services, on_step)


@pytest.fixture
def held(start, reports):
    """A miner whose jobs take until they are let go."""
    learn = Held()
    world = start(learn=learn)
    for owner, made in reports.items():
        world.publish(owner, made)
    world.held = learn
    yield world
    learn.go.set()


def test_waiting_asks_as_often_as_the_miner_says(held):
    job = held.study().run(LEARNER)
    held.slept.clear()
    asked = len(held.transport.seen)

    def sleep(seconds):
        held.slept.append(seconds)
        if len(held.slept) == 3:
            held.held.go.set()
        if len(held.slept) >= 3:
            threading.Event().wait(0.01)

    object.__setattr__(job._line, "sleep", sleep)
    assert job.wait() is job
    assert set(held.slept) == {1.0}
    assert len(held.transport.seen) - asked == len(held.slept)
    assert job.status == "succeeded"
    assert job.progress == 1
    assert job.error is None


@pytest.mark.slow
def test_waiting_ends_in_time_and_the_job_goes_on(held):
    now = [0.0]

    def sleep(seconds):
        now[0] += seconds

    study = held.connect(sleep=sleep, clock=lambda: now[0]).study("voyage")
    job = study.run(LEARNER)
    with pytest.raises(NotReady):
        job.wait(timeout=2.5)
    assert now == [2.5]
    held.held.go.set()
    assert held.study().job(job.id).wait().status == "succeeded"


@pytest.mark.slow
def test_a_cancelled_job_has_no_model_and_runs_again_when_asked_for(held):
    study = held.study()
    job = study.run(LEARNER)
    assert job.cancel() is job
    assert job.status == "cancelled"
    assert "cancelled" in repr(job.wait())
    assert job.error is None
    with pytest.raises(JobCancelled):
        _ = job.model
    held.held.go.set()
    assert study.run(LEARNER).id == job.id
    assert study.job(job.id).wait().model.n_records_ == 2201


def test_a_failed_job_has_the_error_that_it_failed_with(start, reports):
    def fail(*_):
        raise NotConverged("It went on for ever.", remedy="Ask for less.")

    world = start(learn=fail)
    for owner, made in reports.items():
        world.publish(owner, made)
    job = world.study().run(LEARNER).wait()
    assert job.status == "failed"
    assert type(job.error) is NotConverged
    assert str(job.error) == "It went on for ever; ask for less."
    assert "It went on for ever" in repr(job)
    with pytest.raises(EstimationError):
        _ = job.model


@pytest.mark.slow
def test_a_lost_answer_does_not_make_two_jobs(world):
    study = world.study()
    world.transport.lost_answers = 1
    job = study.run(LEARNER).wait()
    assert study.jobs()["id"].tolist() == [job.id]
    assert [method for method, _ in world.transport.seen].count("POST") == 2


@pytest.mark.slow
def test_what_cannot_be_learned_is_refused_when_it_is_asked_for(world, reports):
    study = world.study()
    with pytest.raises(VariablesMissing):
        study.run(pm.DecisionTree("cabin"))
    part = reports["port"]
    plan = Plan.unrandomized(pm.Domain.of(boat=["no", "yes"]))
    world.publish("late", pm.Reports(plan, {"boat": part.codes["age"][:9]}, part.pseudonyms[:9]))
    with pytest.raises(RecordsDoNotAlign):
        study.run(pm.DecisionTree("survived"))
    found = study.run(pm.DecisionTree("survived"), records="common").wait().model
    assert found.n_records_ == 9

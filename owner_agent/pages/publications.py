"""Publications started from the pages: one at a time, in a thread, with its state in memory."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from owner_agent.http import report_failure
from owner_agent.release.approval import Approval
from owner_agent.release.options import PublishOptions
from owner_agent.release.publish import PreparedRecords, PublishOutcome, publish
from owner_agent.report.outcomes import found_wrong, outcome_lines
from owner_agent.report.plan import require_accepted
from owner_agent.report.study import PeopleStatement, outlook_of, people_of
from owner_agent.site.planning import planned
from owner_agent.site.site import load_site
from owner_agent.state.environment import Environment
from pramana_core.errors import Conflict, NotFound, PramanaError
from pramana_core.wire.services import ProblemDetail, problem_of, unforeseen

_UNFORESEEN = (
    "The publication failed with an unforeseen error; the agent's terminal shows its kind."
)


@dataclass(frozen=True)
class Publication:
    """A publication: its current `stage`, and its result (`sentences`, `warnings`, `problem`)."""

    id: str
    state: Literal["running", "succeeded", "failed"] = "running"
    parts_sent: int = 0
    parts: int | None = None
    people: str | None = None
    stage: str | None = None
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    problem: ProblemDetail | None = None


class Publications:
    """The publications of one site."""

    def __init__(self, site: Path, environment: Environment):
        self._site = site
        self._environment = environment
        self._all: dict[str, Publication] = {}
        self._changing = threading.Lock()

    def start(self, options: PublishOptions, shown: Approval) -> Publication:
        """Start a publication. Raises Conflict if another one is running."""
        with self._changing:
            last = self.last()
            if last is not None and last.state == "running":
                raise Conflict(
                    "A publication is running.",
                    where=last.id,
                    remedy="Wait until it ends. The page of the publication shows its progress.",
                )
            made = Publication(uuid.uuid4().hex)
            self._all[made.id] = made
        threading.Thread(target=self._run, args=(made.id, options, shown), daemon=True).start()
        return made

    def get(self, identity: str) -> Publication:
        """Return the publication with this id. Raises NotFound."""
        if identity not in self._all:
            raise NotFound("The publication does not exist.", where=identity)
        return self._all[identity]

    def last(self) -> Publication | None:
        """Return the newest publication since the agent started."""
        return next(reversed(self._all.values()), None)

    def _run(self, identity: str, options: PublishOptions, shown: Approval) -> None:
        try:
            outcome = self._publish(identity, options, shown)
        except PramanaError as error:
            self._update(identity, state="failed", problem=problem_of(error))
        except Exception as error:  # noqa: BLE001 - its message may quote a record
            report_failure("A publication", error)
            problem = unforeseen(_UNFORESEEN, remedy=None)
            self._update(identity, state="failed", problem=problem)
        else:
            sentences, warnings = tuple(outcome_lines(outcome)), tuple(found_wrong(outcome))
            self._update(identity, state="succeeded", sentences=sentences, warnings=warnings)

    def _publish(self, identity: str, options: PublishOptions, shown: Approval) -> PublishOutcome:
        def watch(stage: str, done: int, total: int) -> None:
            parts = {"parts_sent": done, "parts": total} if stage == "parts" else {}
            self._update(identity, stage=stage, **parts)

        environment = self._environment
        people = people_of(load_site(self._site), environment)
        # The publication's page shows the sentence before anything is sent.
        sentence = people.sentence if isinstance(people, PeopleStatement) else people
        self._update(identity, people=sentence)
        site = load_site(self._site)
        plan = planned(site)
        require_accepted(site, plan, environment, outlook_of(site, plan, environment))
        return publish(PreparedRecords, site, environment, options, watch, approval=shown)

    def _update(self, identity: str, **changes: Any) -> None:
        with self._changing:
            self._all[identity] = replace(self._all[identity], **changes)

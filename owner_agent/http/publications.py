"""Publications that the local agent runs on request: one at a time, each in its own thread."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from owner_agent.http.failures import tell_failure
from owner_agent.release.options import PART_RECORDS
from owner_agent.release.publish import PublishOutcome
from owner_agent.report.outcomes import found_wrong, outcome_lines
from owner_agent.site.mistakes import CorrectionChoice
from pramana_core.errors import Conflict, NotFound, PramanaError
from pramana_core.progress import StagedProgress
from pramana_core.wire.base import Message
from pramana_core.wire.problems import ProblemDetail, problem_of, unforeseen

_UNFORESEEN = (
    "The publication ended with an unforeseen error; its kind stands at the agent's terminal."
)

PublicationState = Literal["running", "succeeded", "failed"]


class PublicationCreate(Message):
    """A request to publish the table as it is now."""

    part_records: Annotated[int, Field(ge=1)] = PART_RECORDS
    accept_added_loss: bool = False
    corrections: CorrectionChoice | None = None


class Publication(Message):
    """A publication and how far it is.

    `people` is what the study says of its owners' people, `stage` what is being done while it
    runs; `said` is in words what it ended with, and `warnings` what was found wrong.
    """

    id: str
    state: PublicationState
    parts_sent: int
    parts: int | None
    people: str | None = None
    stage: str | None = None
    said: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    outcome: dict[str, Any] | None
    problem: ProblemDetail | None


def changed_since_shown(remedy: str) -> Conflict:
    """Return the error of a yes to what the site file does not say any more."""
    return Conflict(
        "Nothing left: the site file says something else than when this page was made.",
        where="site file",
        remedy=remedy,
    )


class Publications:
    """Publications of one site, run in a thread each, one at a time; kept in memory."""

    def __init__(
        self,
        people: Callable[[], str | None],
        publish_once: Callable[[PublicationCreate, str | None, StagedProgress], PublishOutcome],
    ):
        """Take what asks for what is said of the people, and what publishes as it was shown."""
        self._people = people
        self._publish_once = publish_once
        self._all: dict[str, Publication] = {}
        self._changing = threading.Lock()

    def start(self, request: PublicationCreate, shown: str | None = None) -> Publication:
        """Start a publication.

        Args:
            request: how to publish.
            shown: the `content_digest` of what somebody said yes to; nothing leaves by a site file
                that says something else. None where nobody was shown anything.

        Raises:
            Conflict: one is running.
        """
        with self._changing:
            running = [p.id for p in self._all.values() if p.state == "running"]
            if running:
                raise Conflict(
                    "A publication is running.",
                    where=running[0],
                    remedy=f"Follow it at /v1/publications/{running[0]}.",
                )
            made = Publication(
                id=uuid.uuid4().hex,
                state="running",
                parts_sent=0,
                parts=None,
                outcome=None,
                problem=None,
            )
            self._all[made.id] = made
        threading.Thread(target=self._run, args=(made.id, request, shown), daemon=True).start()
        return made

    def get(self, identity: str) -> Publication:
        """Return a publication. Raises NotFound."""
        try:
            return self._all[identity]
        except KeyError:
            raise NotFound("There is no such publication.", where=identity) from None

    def last(self) -> Publication | None:
        """Return the newest publication since the agent started."""
        return next(reversed(self._all.values()), None)

    def _run(self, identity: str, request: PublicationCreate, shown: str | None) -> None:
        def watch(stage: str, done: int, total: int) -> None:
            now: dict[str, Any] = {"stage": stage}
            if stage == "parts":
                now |= {"parts_sent": done, "parts": total}
            self._update(identity, **now)

        try:
            # Whoever follows the publication can read it before anything leaves.
            self._update(identity, people=self._people())
            outcome = self._publish_once(request, shown, watch)
        except PramanaError as error:
            self._update(identity, state="failed", problem=problem_of(error))
        except Exception as error:  # noqa: BLE001 - what it says may quote a record
            tell_failure("A publication", error)
            problem = unforeseen(_UNFORESEEN, remedy=None)
            self._update(identity, state="failed", problem=problem)
        else:
            self._update(
                identity,
                state="succeeded",
                outcome=outcome.as_dict(),
                said=tuple(outcome_lines(outcome)),
                warnings=tuple(found_wrong(outcome)),
            )

    def _update(self, identity: str, **changes: Any) -> None:
        with self._changing:
            self._all[identity] = self._all[identity].model_copy(update=changes)

"""What routes ask for, named once.

None of it waits, so that it is asked for on the loop, also while all threads wait for a database.

Also here:

* Requests that may be sent again without harm: what is done under an `Idempotency-Key` and the
  answer to it are one transaction, and the same bytes are answered again.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.orm import Session

from miner_service.http.access.access import Caller
from miner_service.http.access.gate import Gate
from miner_service.jobs.runner import WorkerPool
from miner_service.services import Services
from miner_service.store.answers import Answer, Sender, keep_answer, known_answer
from miner_service.store.database import Paging
from pramana_core.errors import OptionError
from pramana_core.wire.base import MAX_PARTS, MAX_RECORDS, Message
from pramana_core.wire.services import IDEMPOTENCY_HEADER, LONGEST_KEY

REPLAY_HEADER = "Idempotent-Replay"


@dataclass(frozen=True)
class KeyedRequest:
    """A request with the key it carries, if any; `secret` is the sender's token."""

    address: str
    secret: str
    key: str | None

    def answer(
        self,
        services: Services,
        asked: Message | None,
        act: Callable[[Session], Message],
        *,
        status: int = 201,
        secret: str | None = None,
    ) -> Response:
        """Do what is asked, or answer as it was answered before.

        Args:
            services: of the miner.
            asked: the body of the request.
            act: does it, in a transaction.
            status: of the answer.
            secret: what only the sender has, where that is no token.

        Raises:
            Conflict: the key was sent with another request.
        """
        with services.database.write() as session:
            if self.key is None:
                return _response(Answer(status, _body(act(session))))
            sender = Sender(self.secret if secret is None else secret, self.key)
            request, now = self._digest(asked), services.now()
            known = known_answer(session, sender, request, now)
            if known is not None:
                return _response(known, replayed=True)
            made = Answer(status, _body(act(session)))
            keep_answer(session, sender, request, made, now)
        return _response(made)

    def _digest(self, asked: Message | None) -> str:
        body = b"" if asked is None else _body(asked)
        return hashlib.sha256(self.address.encode() + b"\n" + body).hexdigest()


def get_keyed(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias=IDEMPOTENCY_HEADER,
            description="The same request under the same key, within 24 hours, is done once.",
        ),
    ] = None,
) -> KeyedRequest:
    """Return a request with its key. Raises OptionError: that is no key."""
    plain = key is None or all("!" <= letter <= "~" for letter in key)
    if not plain or (key is not None and not 1 <= len(key) <= LONGEST_KEY):
        raise OptionError(
            f"{IDEMPOTENCY_HEADER} must have 1 to {LONGEST_KEY} visible ASCII characters.",
            where=IDEMPOTENCY_HEADER,
            remedy="Make one at random, such as a UUID.",
        )
    address = f"{request.method} {request.url.path}"
    return KeyedRequest(address, request.headers.get("authorization", ""), key)


KeyedDep = Annotated[KeyedRequest, Depends(get_keyed)]


def _body(message: Message) -> bytes:
    return message.model_dump_json().encode()


def _response(answer: Answer, *, replayed: bool = False) -> Response:
    headers = {REPLAY_HEADER: "true"} if replayed else {}
    # What holds a secret is kept by nobody on the way.
    headers["Cache-Control"] = "no-store"
    return Response(answer.body, answer.status, headers, "application/json")


MAX_PAGE = 500
DEFAULT_PAGE = 100
_QUERY_OF = {
    "paging": {"limit", "cursor"},
    "records": {"records"},
    "seed": {"seed"},
    "fingerprint": {"fingerprint"},
}
"""The query parameters behind the parameters that endpoints have by these names."""


async def get_services(request: Request) -> Services:
    """Return what this miner is made of."""
    services: Services = request.app.state.services
    return services


async def get_crew(request: Request) -> WorkerPool:
    """Return those who run the jobs."""
    crew: WorkerPool = request.app.state.crew
    return crew


ServicesDep = Annotated[Services, Depends(get_services)]
CrewDep = Annotated[WorkerPool, Depends(get_crew)]


async def get_gate(request: Request) -> Gate:
    """Return what requests of all senders share."""
    gate: Gate = request.app.state.gate
    return gate


GateDep = Annotated[Gate, Depends(get_gate)]


async def get_caller(request: Request) -> Caller:
    """Return who sent the request, whom the way into the route let in."""
    caller: Caller = request.state.caller
    return caller


async def refuse_unknown_query(request: Request) -> None:
    """Refuse query parameters that the route does not have, by name.

    Raises RequestValidationError.
    """
    if not request.scope["query_string"]:
        return
    taken = inspect.signature(request.scope["endpoint"]).parameters
    known = {parameter for name in taken for parameter in _QUERY_OF.get(name, ())}
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        errors: list[dict[str, Any]] = [
            {"loc": ("query", name), "type": "extra_forbidden", "msg": ""} for name in unknown
        ]
        raise RequestValidationError(errors)


CallerDep = Annotated[Caller, Depends(get_caller)]


async def get_paging(
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Items per page.")] = DEFAULT_PAGE,
    cursor: Annotated[
        str | None, Query(max_length=64, description="`next` of the page before.")
    ] = None,
) -> Paging:
    """Return which page is asked for."""
    return Paging(limit, cursor)


PagingDep = Annotated[Paging, Depends(get_paging)]
StudyPath = Annotated[str, Path(description="The name of a study.", examples=["asia"])]
ReleasePath = Annotated[str, Path(description="The id of a release.")]
PartPath = Annotated[int, Path(ge=0, lt=MAX_PARTS, description="The number of a part, from 0.")]
JobPath = Annotated[str, Path(description="The id of a job.")]
ModelPath = Annotated[str, Path(description="The id of a model.")]
RecordsQuery = Annotated[int, Query(ge=1, le=MAX_RECORDS, description="How many to draw.")]
SeedQuery = Annotated[
    int, Query(ge=0, lt=1 << 53, description="The same seed draws the same records.")
]

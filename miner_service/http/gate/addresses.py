"""Which endpoint a request is for, found before anything of it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, compile_path
from starlette.types import Scope


@dataclass(frozen=True)
class Address:
    """An endpoint, by its name, with the paths and methods it takes."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]
    endpoint: Callable[..., Any]

    def parameters(self, scope: Scope) -> dict[str, str]:
        """Return the parameters in the path of a request that is for this endpoint."""
        found = self.pattern.match(scope["path"])
        return {} if found is None else found.groupdict()


@dataclass(frozen=True)
class Addresses:
    """All endpoints of a service."""

    every: Sequence[Address]

    @classmethod
    def of(cls, routes: Iterable[BaseRoute]) -> Addresses:
        """Return the endpoints of an application's routes."""
        return cls(
            [
                Address(
                    str(route.name),
                    compile_path(str(route.path))[0],
                    frozenset(route.methods or ()),
                    route.endpoint,
                )
                for route in iter_route_contexts(list(routes))
                if route.endpoint is not None
            ]
        )

    def find(self, scope: Scope) -> Address | None:
        """Return the endpoint that a request is for; None: it will be answered 404 or 405."""
        path, method = scope["path"], scope["method"]
        for address in self.every:
            if method in address.methods and address.pattern.match(path):
                return address
        return None

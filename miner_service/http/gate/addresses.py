"""Which endpoint a request is for, found before anything of it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.routing import Route, compile_path
from starlette.types import Scope


@dataclass(frozen=True)
class Address:
    """An endpoint, by its name, with the paths and methods it takes."""

    name: str
    pattern: re.Pattern[str]
    methods: frozenset[str]
    endpoint: Callable[..., Any]


@dataclass(frozen=True)
class Addresses:
    """All endpoints of a service."""

    every: Sequence[Address]

    @classmethod
    def of(cls, routers: Iterable[tuple[str, APIRouter]]) -> Addresses:
        """Return the endpoints of routers, each with the prefix of its paths."""
        return cls(
            [
                Address(
                    route.name,
                    compile_path(prefix + route.path)[0],
                    frozenset(route.methods or ()),
                    route.endpoint,
                )
                for prefix, router in routers
                for route in router.routes
                if isinstance(route, Route)
            ]
        )

    def find(self, scope: Scope) -> Address | None:
        """Return the endpoint that a request is for; None: it will be answered 404 or 405."""
        path, method = scope["path"], scope["method"]
        for address in self.every:
            if method in address.methods and address.pattern.match(path):
                return address
        return None

"""The public part of a site file, with which several owners plan a study together.

It contains the owner's name and the sensitive variables with their categories, and nothing else. A
digest in the file reveals later changes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from owner_agent.site.mistakes import all_mistakes
from owner_agent.site.planning import planned, without_protection
from owner_agent.site.sections import Section
from owner_agent.site.site import Site, read_toml
from owner_agent.site.writing import toml
from pramana_core.domain import Variable
from pramana_core.errors import ConfigError
from pramana_core.wire.base import Label, Name, Sha256

_AGAIN = "Ask {} for a new file from `owner-agent public-part`, and use that file unchanged."


class PublicVariable(Section):
    """A variable that the study's plan may randomize."""

    name: Label
    categories: Annotated[tuple[Label, ...], Field(min_length=2)]


class PublicPart(Section):
    """The part of a site file that an owner discloses for planning a study.

    Its digest is SHA-256 of the other fields.
    """

    owner: Name
    digest: Sha256
    variables: Annotated[tuple[PublicVariable, ...], Field(min_length=1)]

    @classmethod
    def of(cls, site: Site) -> PublicPart:
        """Return the public part of a site without reading its table. Raises PramanaError."""
        sensitive = [v.name for v in site.file.variables if v.sensitive]
        if not sensitive:
            raise ConfigError(
                "The site file has no sensitive variable, so there is nothing that a study's "
                "plan could randomize.",
                where="variables",
                remedy="Columns that are not sensitive are sent unchanged and need no plan.",
            )
        known = planned(without_protection(site)).variables
        variables = tuple(
            PublicVariable(name=name, categories=known[name].categories) for name in sensitive
        )
        return cls(owner=site.owner, digest=_digest(site.owner, variables), variables=variables)

    @property
    def text(self) -> str:
        """The content of the file, as TOML."""
        return toml(
            self.model_dump(),
            f"The variables of {self.owner} and their categories, for planning the study.",
            "`owner-agent design PART...` computes a plan from all owners' parts. Do not edit this",
            "file, because the owner's site file has the same lists.",
        )

    def domain_variables(self) -> tuple[Variable, ...]:
        """Return the variables of the plan. Raises DomainError for invalid categories."""
        return tuple(Variable(v.name, v.categories) for v in self.variables)


def place_of_part(site: Path, owner: str) -> Path:
    """Return the default path for the public part of a site file.

    The path contains the site file's name unless that is `site.toml`, because a folder may contain
    several site files.
    """
    name = owner if site.name == "site.toml" else site.stem
    return site.with_name(f"{name}.public.toml")


def read_part(path: Path) -> PublicPart:
    """Read a public part after checking that it was not changed. Raises ConfigError."""
    absent = "Ask the owner for the file that `owner-agent init` or `public-part` wrote."
    content = read_toml(path, "public part", absent)
    if "table" in content or "record_id" in content:
        raise ConfigError(
            f"{path} is a site file, which is private to its owner, not a public part.",
            where=str(path),
            remedy=f"Ask the owner to run `owner-agent public-part --site {path.name}`, and use"
            " its file.",
        )
    try:
        part = PublicPart.model_validate(content)
    except ValidationError as error:
        what = f"public part {path}"
        raise all_mistakes(error, what, "docs/vertical-study.md") from None
    if part.digest != _digest(part.owner, part.variables):
        raise ConfigError(
            f"The public part {path} of {part.owner} was changed: its digest does not match its"
            " variables and categories. A plan from this file would not fit the owner's site file.",
            where=str(path),
            remedy=_AGAIN.format(part.owner),
        )
    return part


def _digest(owner: str, variables: tuple[PublicVariable, ...]) -> str:
    listed = [[v.name, list(v.categories)] for v in variables]
    text = json.dumps([owner, listed], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

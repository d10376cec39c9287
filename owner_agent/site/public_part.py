"""The public part of a site file: what others need to know of it to plan a study together.

It has the owner's name and her sensitive variables with their categories, and nothing else. Its
digest shows when somebody changed it on the way.
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

_AGAIN = "Ask {} to write it again with `owner-agent public-part`, and take that file as it is."


class PublicVariable(Section):
    """A variable that the study's plan may randomize."""

    name: Label
    categories: Annotated[tuple[Label, ...], Field(min_length=2)]


class PublicPart(Section):
    """What one owner discloses to those who plan a study with her; a SHA-256 digest of the rest."""

    owner: Name
    digest: Sha256
    variables: Annotated[tuple[PublicVariable, ...], Field(min_length=1)]

    @classmethod
    def of(cls, site: Site) -> PublicPart:
        """Return the public part of a site; its table is not read. Raises PramanaError."""
        sensitive = [v.name for v in site.file.variables if v.sensitive]
        if not sensitive:
            raise ConfigError(
                "The site file has no sensitive variable, so it has no part in a study's plan.",
                where="variables",
                remedy="Columns that are not sensitive leave as they are and need no plan.",
            )
        known = planned(without_protection(site)).variables
        variables = tuple(
            PublicVariable(name=name, categories=known[name].categories) for name in sensitive
        )
        return cls(owner=site.owner, digest=_digest(site.owner, variables), variables=variables)

    @property
    def text(self) -> str:
        """The file's content, TOML."""
        return toml(
            self.model_dump(),
            f"The variables of {self.owner} and their categories, for those who plan the study.",
            "`owner-agent design PART...` makes the plan of all owners' parts. Do not edit it: the",
            "site file it was written from has the same lists.",
        )

    def domain_variables(self) -> tuple[Variable, ...]:
        """Return the variables. Raises DomainError for impossible categories."""
        return tuple(Variable(v.name, v.categories) for v in self.variables)


def place_of_part(site: Path, owner: str) -> Path:
    """Return where the public part of a site file is written, if nobody names another place.

    A site file of another name than `site.toml` lends its own: several may lie in one folder.
    """
    name = owner if site.name == "site.toml" else site.stem
    return site.with_name(f"{name}.public.toml")


def read_part(path: Path) -> PublicPart:
    """Read a public part as its owner wrote it. Raises ConfigError."""
    absent = "Ask the owner for the file that `owner-agent init` or `public-part` wrote."
    content = read_toml(path, "public part", absent)
    if "table" in content or "record_id" in content:
        raise ConfigError(
            f"{path} is a site file, which is for its owner's eyes only, and no public part.",
            where=str(path),
            remedy=f"Have its owner run `owner-agent public-part --site {path.name}`, and take the"
            " file that it writes.",
        )
    try:
        part = PublicPart.model_validate(content)
    except ValidationError as error:
        what = f"public part {path}"
        raise all_mistakes(error, what, "docs/vertical-study.md") from None
    if part.digest != _digest(part.owner, part.variables):
        raise ConfigError(
            f"The public part {path} is not as {part.owner} wrote it: its digest is of other"
            " variables or categories. A plan made of it would not fit her site file.",
            where=str(path),
            remedy=_AGAIN.format(part.owner),
        )
    return part


def _digest(owner: str, variables: tuple[PublicVariable, ...]) -> str:
    listed = [[v.name, list(v.categories)] for v in variables]
    text = json.dumps([owner, listed], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

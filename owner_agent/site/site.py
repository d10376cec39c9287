"""`site.toml`: the custodian's description of the table, validated as a whole before use."""

from __future__ import annotations

import itertools
import tomllib
from bisect import bisect_right
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from owner_agent.site.channels import AnyChannel
from owner_agent.site.corrections import CorrectionChoice
from owner_agent.site.mask_section import MaskSection, masking_mistakes
from owner_agent.site.mistakes import Inconsistent, all_mistakes
from owner_agent.site.sections import (
    ColumnName,
    Finite,
    MinerSection,
    PeerSection,
    Section,
    StudyPlanSection,
)
from owner_agent.site.table_source import (
    MARKED,
    TABLE_SUFFIXES,
    TableSource,
    has_password,
    is_database,
    located,
)
from owner_agent.site.tree_section import ShareModelSection, sharing_mistakes
from owner_agent.state.tls_files import TlsFiles
from pramana_core.alike import did_you_mean, repeated_in
from pramana_core.errors import ConfigError
from pramana_core.text_files import read_text
from pramana_core.wire.base import KEY_COLUMN, Label, Name


class VariableSection(Section):
    """A variable: its column, its categories, its protection, and variables that it may reveal.

    `groups` are the categories of each group, or the name of a CSV file with the columns category
    and group. They are public, as the categories are, and sent with each release.
    """

    name: Label
    column: ColumnName | None = None
    categories: tuple[Label, ...] | None = None
    categories_from: str | None = None
    cuts: tuple[Finite, ...] | None = None
    representatives: tuple[Finite, ...] | None = None
    groups: dict[str, Any] | str | None = None
    missing: Label | None = None
    sensitive: bool
    reveals: tuple[Label, ...] = ()
    channel: AnyChannel | None = None

    @property
    def source(self) -> str:
        """The column of the table."""
        return self.column or self.name

    @model_validator(mode="after")
    def _one_source_of_categories(self) -> Self:
        sources = ("categories", "categories_from", "cuts")
        if sum(getattr(self, name) is not None for name in sources) != 1:
            raise ValueError(
                "give exactly one of categories, categories_from and cuts; categories are never"
                " learned from the data"
            )
        if self.reveals and (self.sensitive or self.channel is not None):
            raise ValueError("'reveals' applies only to variables that are sent unchanged")
        if self.name == KEY_COLUMN:
            raise ValueError(f"the name {KEY_COLUMN} is reserved")
        cuts = self.cuts
        if cuts is not None and (not cuts or any(b <= a for a, b in itertools.pairwise(cuts))):
            raise ValueError("'cuts' must be one or more numbers in ascending order")
        return self

    @model_validator(mode="after")
    def _a_number_for_each_category(self) -> Self:
        numbers = self.representatives
        if numbers is None:
            return self
        if self.missing is not None:
            raise ValueError(
                "a variable with the key `missing` cannot have representatives, because the "
                f"category of empty cells, {self.missing!r}, has no number"
            )
        # A list in a separate file is counted when it is read.
        given = self.categories or ("",) * (len(self.cuts or ()) + 1)
        if self.categories_from is None and len(numbers) != len(given):
            raise ValueError(f"{len(given)} categories need {len(given)} representatives")
        if self.cuts and any(bisect_right(self.cuts, n) != i for i, n in enumerate(numbers)):
            raise ValueError("each representative must lie in its own interval between cuts")
        return self


class BlockSection(Section):
    """Variables that one channel randomizes together, over all combinations of their categories."""

    variables: Annotated[tuple[Label, ...], Field(min_length=2)]
    channel: AnyChannel


class SiteFile(Section):
    """The content of `site.toml`.

    `corrections` selects how to report records whose values changed after their first report: by
    their first reports, or by new draws of all records. Without this choice, a release with such
    records is an error. With `study_plan`, the owner's part of that plan replaces `blocks`. `mask`
    describes masked columns, and `share_model` a tree. A file needs variables or one of these two.
    """

    owner: Name
    table: str
    query: str | None = None
    record_id: ColumnName
    state: str = ".pramana"
    encoding: str = MARKED
    separator: str | None = None
    decimal_commas: tuple[ColumnName, ...] = ()
    dates_as_years: tuple[ColumnName, ...] = ()
    corrections: CorrectionChoice | None = None
    miner: MinerSection | None = None
    peer: PeerSection | None = None
    variables: Annotated[tuple[VariableSection, ...], Field(min_length=1)] = ()
    mask: MaskSection | None = None
    share_model: ShareModelSection | None = None
    blocks: tuple[BlockSection, ...] = ()
    study_plan: StudyPlanSection | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        mistakes = [*_column_mistakes(self), *_block_mistakes(self)]
        read = {v.source: v.sensitive for v in self.variables}
        mask, share = self.mask, self.share_model
        if mask is not None:
            mistakes += masking_mistakes(mask, self.record_id, read)
        if share is not None:
            confidential = () if mask is None else mask.confidential
            mistakes += sharing_mistakes(share, self.record_id, read, confidential)
        if not self.variables and mask is None and share is None:
            mistakes.append("without variables, [mask] or [share_model], nothing can be released")
        if self.record_id in (*self.decimal_commas, *self.dates_as_years):
            mistakes.append(
                f"decimal_commas and dates_as_years must not name the record id {self.record_id!r}"
            )
        if is_database(self.table) != (self.query is not None):
            mistakes.append("query (a table's name or a SELECT) is for databases, which require it")
        if is_database(self.table):
            if has_password(self.table):
                mistakes.append(
                    "table must not contain a password: set it in PGPASSWORD, or in a file that"
                    " PGPASSFILE names"
                )
        elif not self.table.lower().endswith(TABLE_SUFFIXES):
            mistakes.append(f"table must end in one of {', '.join(TABLE_SUFFIXES)}")
        if self.peer is not None and self.owner in {known.name for known in self.peer.known}:
            mistakes.append(
                f"peer.known names {self.owner!r}, the owner of this file; list only other owners"
            )
        if mistakes:
            raise Inconsistent(mistakes)
        return self


class Site(BaseModel):
    """A site file and the folder to which its paths are relative."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    file: SiteFile
    folder: Path

    @property
    def owner(self) -> str:
        """The owner's name at the miner."""
        return self.file.owner

    @property
    def table(self) -> TableSource:
        """The table, and how to read its text."""
        file = self.file
        database = located(file.table, self.folder) if is_database(file.table) else ""
        return TableSource(
            self.folder / ("table" if database else file.table),
            file.encoding,
            file.separator,
            file.decimal_commas,
            file.dates_as_years,
            database,
            file.query or "",
            file.record_id if database else "",
        )

    @property
    def state(self) -> Path:
        """The directory of keys, tokens, outbox and ledger."""
        return self.folder / self.file.state

    @property
    def miner(self) -> MinerSection:
        """The miner's address and study. Raises ConfigError without the section."""
        return _required(self.file.miner, "miner", "with url and study, or run owner-agent join")

    @property
    def tls_files(self) -> TlsFiles:
        """The certificate files for calling the miner. Raises ConfigError without [miner]."""
        return self.miner.tls_files(self.folder)

    @property
    def mask(self) -> MaskSection:
        """The columns to mask, and the method. Raises ConfigError without the section."""
        return _required(self.file.mask, "mask", "with the columns for confidential and tell")

    @property
    def share_model(self) -> ShareModelSection:
        """The columns and options of a shared tree. Raises ConfigError without the section."""
        wanted = "with target, attributes and requirement"
        return _required(self.file.share_model, "share_model", wanted)

    @property
    def peer(self) -> PeerSection:
        """The study and owners for learning without a miner. Raises ConfigError if absent."""
        return _required(self.file.peer, "peer", "with the study and the known peers")


SectionT = TypeVar("SectionT")


def _required(section: SectionT | None, name: str, remedy: str) -> SectionT:
    if section is None:
        raise ConfigError(
            f"The site file has no section [{name}].", where=name, remedy=f"Add [{name}], {remedy}."
        )
    return section


def load_site(path: Path) -> Site:
    """Read and validate a site file. Raises ConfigError."""
    content = read_toml(
        path, "site", "Name it with --site, or write one with `owner-agent init TABLE`."
    )
    return site_from(content, path.resolve().parent, str(path))


def read_toml(path: Path, kind: str, remedy: str) -> dict[str, Any]:
    """Return the content of a TOML file that a person wrote. Raises ConfigError."""
    try:
        return tomllib.loads(read_text(path))
    except OSError as error:
        raise ConfigError(
            f"The {kind} file {path} cannot be read: {error.strerror}.",
            where=str(path),
            remedy=remedy,
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The {kind} file {path} is not valid TOML: {error}.",
            where=str(path),
            remedy="Correct the file at that position.",
        ) from None


def site_from(content: dict[str, Any], folder: Path, source: str = "site.toml") -> Site:
    """Validate the content of a site file and return the site. Raises ConfigError."""
    try:
        return Site(file=SiteFile.model_validate(content), folder=folder)
    except ValidationError as error:
        schema = SiteFile.model_json_schema()
        parts = [schema, *schema.get("$defs", {}).values()]
        keys = {key for part in parts for key in part.get("properties", {})}
        raise all_mistakes(error, f"site file {source}", "The owner's guide", keys) from None


def _column_mistakes(site: SiteFile) -> list[str]:
    names = [v.name for v in site.variables]
    sources = [v.source for v in site.variables]
    mistakes = [f"two variables have the name {n!r}" for n in repeated_in(names)]
    # Two draws of one sensitive value would be sent: their losses add, unnoticed by the plan.
    mistakes += [
        f"column {s!r} is read by more than one variable, so its values would be reported twice"
        for s in repeated_in(sources)
    ]
    mistakes += [
        f"column {s!r} is the record id and cannot be a variable"
        for s in dict.fromkeys(sources)
        if s == site.record_id
    ]
    mistakes += [
        f"variable {v.name!r} reveals {n!r}, which is not a variable{did_you_mean([n], names)}"
        for v in site.variables
        for n in v.reveals
        if n not in names
    ]
    return mistakes


def _block_mistakes(site: SiteFile) -> list[str]:
    known = {v.name: v for v in site.variables}
    named = [name for block in site.blocks for name in block.variables]
    if site.study_plan is not None and site.blocks:
        return ["the study's plan defines the blocks; remove blocks from the site file"]
    mistakes = [
        f"a block names {n!r}, which is not a variable{did_you_mean([n], known)}"
        for n in named
        if n not in known
    ]
    mistakes += [f"variable {n!r} is listed in blocks more than once" for n in repeated_in(named)]
    mistakes += [
        f"variable {n!r} is in a block and has a separate channel; keep one of them"
        for n in dict.fromkeys(named)
        if n in known and known[n].channel is not None
    ]
    return mistakes

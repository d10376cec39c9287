"""From a table to masked records: the method chosen, the noise keyed, the columns as they leave.

Records are sorted by pseudonym before anything is drawn, so the order of the table's rows changes
nothing. What is masked and how has an identity that follows from the secrets and all values: the
same table masked again is the same release, and what the outbox holds of it is sent again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.noise import keyed_digest, masking_randomness
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Form
from owner_agent.release.masked_table import MaskTable, protection, read_columns
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import Outgoing
from owner_agent.release.prepared import PreparedRelease, secrets_for
from owner_agent.site.mask_section import AUTO
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import Secrets, linkage_fingerprint
from owner_agent.table.mixed import (
    content_of,
)
from pramana_core.errors import ConfigError
from pramana_core.mask import METHODS, Masked
from pramana_core.mask.copies import require_few_copies
from pramana_core.mask.core.bounds import Bounds, bounded, cut_cautions
from pramana_core.mask.core.cautions import gravest_first
from pramana_core.mask.core.masked import Method
from pramana_core.mask.recommending import Recommendation, recommend
from pramana_core.mixed import CategoricalColumn, Column
from pramana_core.progress import StagedProgress
from pramana_core.wire.parts import Pseudonyms, key_order
from pramana_core.wire.release_kinds import MASKED, MaskedTableMessage, TableColumn

FORM = "2"
"""Changed with every change that gives the same table other masked values."""


@dataclass(frozen=True, eq=False)
class MethodChoice:
    """The method for a table: its name in METHODS, its options, and what was recommended."""

    method: Method
    options: Mapping[str, Any]
    recommendation: Recommendation | None


@dataclass(frozen=True, eq=False)
class MaskPlan:
    """A table with what is to be done to it, before it is masked.

    Attributes:
        table: the records, sorted by pseudonym.
        keys: their pseudonyms.
        choice: the method.
        copies: how many masked copies leave.
        bounds: to which masked values are cut, by column.
        identity: what is masked and how, 64 digits; equal exactly if the masked values are.
        secrets: the owner's.
        study: the study.
    """

    table: MaskTable
    keys: Pseudonyms
    choice: MethodChoice
    copies: int
    bounds: Bounds
    identity: str
    secrets: Secrets
    study: str

    def randomness(self, copy: int) -> Any:
        """Return the noise of a copy, from 1; 0 is for measures, which nothing leaves of."""
        return masking_randomness(self.secrets, self.study, self.identity, copy)

    @property
    def message(self) -> MaskedTableMessage:
        """How the columns are described to the miner."""
        told, method = self.table.told, self.choice.method
        columns = [_told(column) for column in told.columns] + [
            TableColumn(name=name, role="masked", type="numeric")
            for name in self.table.confidential.names
        ]
        words = protection(method, told.names, self.copies, self.bounds)
        return MaskedTableMessage(
            columns=columns, method=method.name, copies=self.copies, protection=list(words)
        )

    @property
    def draws(self) -> tuple[Draw, ...]:
        """What the ledger writes of each column."""
        told = tuple(
            Draw(name, name, f"told {name}", float("inf"), Form.OPEN)
            for name in self.table.told.names
        )
        return told + tuple(
            Draw(name, name, self.identity, float("inf"), Form.MASKED)
            for name in self.table.confidential.names
        )


def choose(site: Site, secrets: Secrets, watch: StagedProgress) -> MaskPlan:
    """Read a site's table and settle how it is masked.

    Raises:
        ConfigError: the site masks nothing, or its columns have names that cannot be sent.
        InputError: the table is wrong, or cannot be masked so.
    """
    section = site.mask
    study = site.file.miner.study if site.file.miner is not None else ""
    table = read_columns(site)

    def reading(done: int, total: int, /) -> None:
        watch("pseudonyms", done, total)

    keys = pseudonyms(secrets, study, table.record_ids, reading)
    order = key_order(keys)
    table, keys = table.in_order(order), keys[order]
    content = keyed_digest(secrets.draw, *_content(table, keys, study))
    advice = None
    if section.method == AUTO:
        rng = masking_randomness(secrets, study, content, 0)

        def looking(done: int, total: int, /) -> None:
            watch("relationships", done, total)

        advice = recommend(table.told, table.confidential, rng, on_step=looking)
    method = METHODS[section.method if advice is None else advice.method]
    options = section.options_of(method.name)
    how = [FORM, content, method.name, _written(options), str(section.copies)]
    if section.limits:
        how.append(_written(section.limits))
    identity = keyed_digest(secrets.draw, *(part.encode() for part in how))
    choice = MethodChoice(method, options, advice)
    chosen = MaskPlan(table, keys, choice, section.copies, section.limits, identity, secrets, study)
    try:
        _ = chosen.message
    except ValidationError as error:
        raise ConfigError(
            f"These columns cannot be sent: {error.errors()[0]['msg']}.",
            where="mask",
            remedy="Rename them in the table and in [mask].",
        ) from None
    return chosen


def masked_copies(chosen: MaskPlan, watch: StagedProgress) -> tuple[Masked, ...]:
    """Mask a table, each copy by noise of its own.

    Raises:
        TableError, MaskingError: the table cannot be masked so, or not so many times.
    """
    made = []
    table = chosen.table.confidential
    require_few_copies(chosen.choice.method, chosen.copies, table.records, len(table.columns))
    for copy in range(1, chosen.copies + 1):
        watch("masking", copy - 1, chosen.copies)
        rng, given = chosen.randomness(copy), chosen.table
        choice = chosen.choice
        masked = choice.method(given.told, given.confidential, rng, **choice.options)
        made.append(_cut(chosen, masked, first=copy == 1))
    watch("masking", chosen.copies, chosen.copies)
    return tuple(made)


def _cut(chosen: MaskPlan, masked: Masked, *, first: bool) -> Masked:
    """Return a copy cut to the bounds; the first has what that costs among its warnings."""
    if not chosen.bounds:
        return masked
    table = chosen.table.confidential
    costs = cut_cautions(table.names, chosen.bounds, table.matrix(), masked.matrix)
    matrix = bounded(table.names, chosen.bounds, masked.matrix)
    return replace(
        masked,
        matrix=matrix,
        warnings=gravest_first((*masked.warnings, *(costs if first else ()))),
    )


def outgoing(chosen: MaskPlan, copies: Iterable[Masked]) -> Outgoing:
    """Return masked records as they leave."""
    message = chosen.message
    columns: dict[str, npt.NDArray[Any]] = {
        column.name: column.codes if isinstance(column, CategoricalColumn) else column.values
        for column in chosen.table.told.columns
    }
    for copy, masked in enumerate(copies, 1):
        names = message.copy_names(copy)
        for place, name in enumerate(chosen.table.confidential.names):
            columns[names[name]] = masked.matrix[:, place]
    linkage = linkage_fingerprint(chosen.secrets.linkage, chosen.study)
    return Outgoing(MASKED, message, chosen.keys, columns, linkage)


def _told(column: Column) -> TableColumn:
    if isinstance(column, CategoricalColumn):
        labels = list(column.categories)
        return TableColumn(name=column.name, role="told", type="categorical", categories=labels)
    return TableColumn(name=column.name, role="told", type="numeric")


def _content(table: MaskTable, keys: Pseudonyms, study: str) -> list[bytes]:
    """Return all that a masked release is made of, but for the method."""
    parts = [study.encode(), np.ascontiguousarray(keys).tobytes()]
    for role, columns in (("told", table.told), ("masked", table.confidential)):
        parts += [role.encode(), *content_of(columns.columns)]
    return parts


def _written(options: Mapping[str, Any]) -> str:
    plain = {
        key: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for key, value in options.items()
    }
    return json.dumps(plain, sort_keys=True)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedMask(PreparedRelease):
    """A table masked: `chosen` is the table and how it is masked, `copies` are the masked ones."""

    kind = MASKED
    command = "owner-agent mask --publish"
    section = "mask"

    chosen: MaskPlan
    copies: tuple[Masked, ...]

    @classmethod
    def of(
        cls,
        site: Site,
        watch: StagedProgress,
        options: PublishOptions = PublishOptions(),  # noqa: B008 - frozen
        environment: Environment = Environment(),  # noqa: B008 - frozen
        /,
    ) -> Self:
        """Mask a site's table, in the one way that the site file says."""
        entries = known_entries(site.state)
        secrets = secrets_for(site, entries, options, environment)
        chosen = choose(site, secrets, watch)
        return cls(
            identity=chosen.identity,
            draws=chosen.draws,
            entries=entries,
            records=len(chosen.keys),
            keys=chosen.keys,
            method=chosen.choice.method.name,
            dropped=chosen.table.dropped,
            chosen=chosen,
            copies=masked_copies(chosen, watch),
        )

    def outgoing(self) -> Outgoing:
        """Return the masked records."""
        return outgoing(self.chosen, self.copies)

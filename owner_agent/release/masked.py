"""Masked records: the columns, the masking method, the noise, and the release.

Masking the same table again gives the same release. No error message quotes a cell.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from owner_agent.randomize.draws import pseudonyms
from owner_agent.randomize.noise import keyed_digest, masking_randomness
from owner_agent.release.history import known_entries
from owner_agent.release.ledger import Draw, Form
from owner_agent.release.options import PublishOptions
from owner_agent.release.outbox import Outgoing
from owner_agent.release.prepared import PreparedRelease
from owner_agent.site.mask_section import AUTO, TellSection
from owner_agent.site.site import Site
from owner_agent.state.environment import Environment
from owner_agent.state.keys import KeyStore, Secrets, linkage_fingerprint
from owner_agent.table.mixed import content_of, ranked, read_records
from pramana_core.alike import first_few
from pramana_core.csv_text import csv_text
from pramana_core.determined import PairCounts
from pramana_core.errors import ConfigError, UnprotectedVariable
from pramana_core.mask import METHODS, Masked
from pramana_core.mask.core.masked import Method
from pramana_core.mask.recommending import Recommendation, recommend
from pramana_core.mixed import CategoricalColumn, Column, MixedTable
from pramana_core.progress import StagedProgress
from pramana_core.wire.parts import Pseudonyms, key_order
from pramana_core.wire.release_kinds import MASKED, MaskedTableMessage, TableColumn

LETTERS = (
    "S are the columns sent unchanged, X the confidential columns, which stay here, and Y the"
    " masked columns, which replace X."
)
"""The symbols in the text of measures."""

NO_BOUND = (
    "Masked records have neither a gamma nor an epsilon: no bound limits what they reveal about"
    " one record."
)


LISTED = 160
"""Longest list of columns in a sentence, for which the miner's limit is 400 characters."""


def listed(names: Collection[str]) -> str:
    """Return column names joined for a sentence, or their count if the list would be too long."""
    text = first_few(names)
    return text if len(text) <= LISTED else f"{len(names):,} columns"


def protection(method: Method, unchanged: Sequence[str]) -> tuple[str, ...]:
    """Return sentences on what a masking method protects, given the columns sent unchanged."""
    known = listed(unchanged) if unchanged else "nothing"
    sentences = [NO_BOUND, method.protects]
    if method.independent:
        sentences.append(
            f"A reader who knows {known} of a person can predict the person's confidential "
            "values as well as all records together allow, including the person's own record. "
            "The owner's report states for each record how accurate this prediction is. The "
            "release "
            "preserves the dependence of confidential columns on the others on purpose."
        )
        sentences.append(
            "A record that is unique in the unchanged columns, by a rare category or an outlying"
            " number, determines its own prediction; its masked value can then be close to the"
            " true value. max_leverage limits this risk, and the page names such records."
        )
    if unchanged:
        sentences.append(
            f"The columns sent unchanged ({known}) must not be sensitive. In combination they may"
            " identify people."
        )
    if method.released_values:
        sentences.append(
            "The released values are the true values in another order. Therefore the largest and "
            "the smallest value are released, but for other records."
        )
    if method.exact_moments or method.released_values:
        sentences.append(
            "A second release of nearly the same records would reveal the values of the differing"
            " records by subtraction; the ledger does not allow it."
        )
    return tuple(sentences)


@dataclass(frozen=True, eq=False)
class MaskTable:
    """The unchanged columns (S) and confidential columns (X) of the same n records, with their ids.

    `dropped` counts the records omitted because of empty cells.
    """

    record_ids: list[str]
    unchanged: MixedTable
    confidential: MixedTable
    dropped: int

    def in_order(self, order: npt.NDArray[np.intp]) -> MaskTable:
        """Return the table with its records in the given order."""
        ids = [self.record_ids[place] for place in order]
        both = self.unchanged.rows(order), self.confidential.rows(order)
        return MaskTable(ids, *both, self.dropped)


def read_columns(site: Site) -> MaskTable:
    """Read the columns that a site masks or sends unchanged. Raises InputError."""
    section = site.mask
    columns = [*section.tell, *(TellSection(column=name) for name in section.confidential)]
    count = len(section.tell)
    read = read_records(site, columns, drop=section.missing == "drop", section="mask")
    records = len(read.record_ids)
    unchanged, masked = (
        MixedTable(part, records) for part in (read.columns[:count], read.columns[count:])
    )
    _require_hidden(section.tell, unchanged, masked)
    return MaskTable(read.record_ids, unchanged, masked, read.dropped)


def _require_hidden(tell: Sequence[TellSection], unchanged: MixedTable, masked: MixedTable) -> None:
    """Check that no unchanged column reveals the approximate rank of a confidential value."""
    codes = {column.name: ranked(column) for column in unchanged.beside(masked).columns}
    sizes = {name: int(found.max(initial=0)) + 1 for name, found in codes.items()}
    pairs = PairCounts(sizes, unchanged.names, masked.names)
    pairs.add(codes)
    allowed = {one.column: one.reveals for one in tell}
    for one in pairs.giveaways():
        if one.of not in allowed[one.column]:
            raise UnprotectedVariable(
                f"Column {one.column!r}, which is sent unchanged, reveals the confidential"
                f" {one.of!r}: for {one.share:.1%} of the records, it predicts which eighth of "
                f"the sorted values of {one.of!r} contains the record's value.",
                where=one.column,
                remedy=f"Mask or omit {one.column!r}. If this dependence is public, allow it with"
                f' reveals = ["{one.of}"] in its entry of tell.',
            )


FORM = "3"
"""Version of the masked values, changed whenever the same table gives other masked values."""


@dataclass(frozen=True, eq=False)
class MaskPlan:
    """A table of n records, sorted by pseudonym (`keys`), with its masking method.

    `identity` (64 digits) is equal for two plans if and only if their masked values are equal.
    """

    table: MaskTable
    keys: Pseudonyms
    method: Method
    options: Mapping[str, Any]
    recommendation: Recommendation | None
    identity: str
    secrets: Secrets
    study: str

    @classmethod
    def of(cls, site: Site, secrets: Secrets, watch: StagedProgress) -> Self:
        """Read a site's table and choose the masking method. Raises InputError, ConfigError."""
        section = site.mask
        study = site.file.miner.study if site.file.miner is not None else ""
        table = read_columns(site)
        keys = pseudonyms(secrets, study, table.record_ids, partial(watch, "pseudonyms"))
        order = key_order(keys)
        table, keys = table.in_order(order), keys[order]
        content = keyed_digest(secrets.draw, *_content(table, keys, study))
        advice = None
        if section.method == AUTO:
            rng = masking_randomness(secrets, study, content, 0)
            looking = partial(watch, "relationships")
            advice = recommend(table.unchanged, table.confidential, rng, on_step=looking)
        method = METHODS[section.method if advice is None else advice.method]
        options = section.options_of(method.name)
        # "1" once counted masked copies; without it the same table would be masked differently.
        how = [FORM, content, method.name, json.dumps(options, sort_keys=True), "1"]
        identity = keyed_digest(secrets.draw, *(part.encode() for part in how))
        made = cls(table, keys, method, options, advice, identity, secrets, study)
        try:
            _ = made.message
        except ValidationError as error:
            raise ConfigError(
                f"These columns cannot be sent: {error.errors()[0]['msg']}.",
                where="mask",
                remedy="Rename them in the table and in [mask].",
            ) from None
        return made

    def randomness(self, use: int) -> Any:
        """Return random numbers for a `use`: 1 for noise, 0 for measures that are not sent."""
        return masking_randomness(self.secrets, self.study, self.identity, use)

    @property
    def message(self) -> MaskedTableMessage:
        """The description of the columns for the miner."""
        unchanged, method = self.table.unchanged, self.method
        columns = [_column_message(column) for column in unchanged.columns] + [
            TableColumn(name=name, role="masked", type="numeric")
            for name in self.table.confidential.names
        ]
        words = protection(method, unchanged.names)
        return MaskedTableMessage(columns=columns, method=method.name, protection=list(words))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """The ledger's draw of each column."""
        unchanged = tuple(
            Draw(name, name, f"told {name}", float("inf"), Form.OPEN)
            for name in self.table.unchanged.names
        )
        return unchanged + tuple(
            Draw(name, name, self.identity, float("inf"), Form.MASKED)
            for name in self.table.confidential.names
        )

    def masked(self, watch: StagedProgress) -> Masked:
        """Mask the table and return the result. Raises TableError, MaskingError."""
        table = self.table
        watch("masking", 0, 1)
        masked = self.method(
            table.unchanged, table.confidential, self.randomness(1), **self.options
        )
        watch("masking", 1, 1)
        return masked


def _column_message(column: Column) -> TableColumn:
    if isinstance(column, CategoricalColumn):
        labels = list(column.categories)
        return TableColumn(name=column.name, role="told", type="categorical", categories=labels)
    return TableColumn(name=column.name, role="told", type="numeric")


def _content(table: MaskTable, keys: Pseudonyms, study: str) -> list[bytes]:
    parts = [study.encode(), np.ascontiguousarray(keys).tobytes()]
    for role, columns in (("told", table.unchanged), ("masked", table.confidential)):
        parts += [role.encode(), *content_of(columns.columns)]
    return parts


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PreparedMask(PreparedRelease):
    """A masked table ready for release: `chosen` is table and method; `masked` has the values."""

    kind = MASKED
    section = "mask"

    chosen: MaskPlan
    masked: Masked

    @classmethod
    def of(
        cls, site: Site, watch: StagedProgress, options: PublishOptions, environment: Environment, /
    ) -> Self:
        """Mask a site's table as the site file specifies."""
        entries, store = known_entries(site.state), KeyStore(site.state)
        if options.preview and not entries:
            secrets = store.load_or_passing(environment.random_bytes)
        else:
            secrets = store.load_alone() if options.alone else store.load()
        chosen = MaskPlan.of(site, secrets, watch)
        return cls(
            identity=chosen.identity,
            draws=chosen.draws,
            entries=entries,
            records=len(chosen.keys),
            keys=chosen.keys,
            method=chosen.method.name,
            dropped=chosen.table.dropped,
            chosen=chosen,
            masked=chosen.masked(watch),
        )

    def file_content(self) -> bytes:
        """Return the masked records as CSV, without record ids or pseudonyms.

        The draw key determines the order of the rows. If the rows were in the order of pseudonyms,
        rows at the same position at two owners would belong to the same person.
        """
        draw, prefix = self.chosen.secrets.draw, b"pramana/file-order/1\x00"
        order = sorted(
            range(len(self.chosen.keys)),
            key=lambda row: hmac.digest(draw, prefix + bytes(self.chosen.keys[row]), "sha256"),
        )
        table = self.chosen.table.in_order(np.array(order, dtype=np.intp))
        columns: list[Iterable[Any]] = [
            [column.categories[code] for code in column.codes]
            if isinstance(column, CategoricalColumn)
            else [int(number) if number.is_integer() else number for number in column.values]
            for column in table.unchanged.columns
        ]
        columns += self.masked.matrix[order].T.tolist()
        names = [*table.unchanged.names, *table.confidential.names]
        return csv_text(names, zip(*columns, strict=True)).encode()

    def outgoing(self) -> Outgoing:
        """Return the masked records."""
        chosen = self.chosen
        columns: dict[str, npt.NDArray[Any]] = {
            column.name: column.codes if isinstance(column, CategoricalColumn) else column.values
            for column in chosen.table.unchanged.columns
        }
        for place, name in enumerate(chosen.table.confidential.names):
            columns[name] = self.masked.matrix[:, place]
        linkage = linkage_fingerprint(chosen.secrets.linkage, chosen.study)
        return Outgoing(MASKED, chosen.message, chosen.keys, columns, linkage)

"""The state of a study as values: whose records are there, and what it has disclosed of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pramana_core.privacy.amplification import Amplification
from pramana_core.wire.base import People
from pramana_core.wire.privacy import AmplificationMessage, StudyPrivacy
from pramana_core.wire.release_kinds import RANDOMIZED
from pramana_core.wire.releases import Alignment as AlignmentMessage
from pramana_core.wire.releases import AlignmentState, Release, SecretsState, secrets_differ

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Alignment:
    """Which records are found at which owners, from their releases in use.

    Attributes:
        state: `identical`, all owners reported the same records; `partial`, only `in_all` of
            `in_any`; `disjoint`, no record is at every owner; `waiting`, owners are `missing`;
            `no-records`, all releases in use are shared trees, which have none.
        in_all: the records at every owner; None where the caller may not know.
        in_any: the records at any owner; likewise.
        missing: owners that have no release in use.
        secrets: `same`, the releases were made under one linkage secret; `different`, one person
            has other pseudonyms at some owners, and nothing is known of whose people are whose;
            `unknown`, a release names no fingerprint of its secret.
    """

    state: AlignmentState
    in_all: int | None
    in_any: int | None
    missing: tuple[str, ...]
    secrets: SecretsState
    _message: AlignmentMessage

    @classmethod
    def of(cls, message: AlignmentMessage) -> Alignment:
        """Return the alignment of a message."""
        return cls(
            message.state,
            message.in_all,
            message.in_any,
            tuple(message.missing),
            message.secrets,
            message,
        )

    @property
    def releases(self) -> tuple[str, ...]:
        """The ids of the releases in use, one per owner."""
        return tuple(owner.release for owner in self._message.owners)

    def to_frame(self) -> pd.DataFrame:
        """Return an owner a row: `owner`, `release`, `records`, `not_everywhere`.

        `not_everywhere` is how many of its records some other owner lacks.
        """
        import pandas as pd

        names = ["owner", "release", "records", "not_everywhere"]
        rows = [[getattr(owner, name) for name in names] for owner in self._message.owners]
        return pd.DataFrame(rows, columns=names).astype({"not_everywhere": "Int64"})

    def __repr__(self) -> str:
        return f"Alignment({self.told()})"

    def told(self) -> str:
        """Return it in words; first of all that the linkage secrets differ, where they do."""
        if self.secrets == "different":
            return f"{secrets_differ(self._message.secret_groups)} {self._aligned()}"
        return self._aligned()

    def _aligned(self) -> str:
        match self.state:
            case "waiting":
                return f"waiting for {', '.join(self.missing) or 'a first release'}"
            case "no-records":
                return "no records: all releases in use are shared trees"
            case "identical":
                return f"the same {self.in_all:,} records at every owner"
            case "partial" if self.in_all is not None:
                return f"{self.in_all:,} of {self.in_any:,} records at every owner"
        return (
            "records are not the same at all owners"
            if self.state != "disjoint"
            else ("no record is at every owner")
        )


@dataclass(frozen=True)
class Disclosure:
    """What everything that left for a study tells of one person, as the miner states it.

    Attributes:
        epsilon: of the whole record over all owners, if its columns determine each other: the most
            that the logarithm of the odds of any belief about it can change.
        gamma: the same as a factor of the odds.
        grows_to: what a belief of `prior` can grow to.
        prior: such a belief, usually 5 %.
        people: what the study says of its owners' records: of the `same` people, of `different`
            ones, or `overlapping`, which assumes nothing. Only of different people do the owners'
            losses not add up.
        gamma_at_several: the sum over owners, which holds for a person whom all of them know, where
            the study says that they hold different people; None elsewhere, where `gamma` is it.
        left: what a budget leaves for the record, in epsilon; None without a budget.
        changed: the most records that releases of one owner report differently in a block by the
            same draws: these people's values changed, which no epsilon bounds.
        warnings: where what arrived contradicts what the study says of its people, or could not be
            checked; where a record has lost more than any owner, or the study's plan, says.
    """

    epsilon: float
    gamma: float
    grows_to: float
    prior: float
    people: People
    gamma_at_several: float | None
    left: float | None
    changed: int
    warnings: tuple[str, ...]
    _message: StudyPrivacy

    @classmethod
    def of(cls, message: StudyPrivacy) -> Disclosure:
        """Return what a message says."""
        record, several = message.record.determined, message.at_several
        return cls(
            _epsilon(record),
            _gamma(record),
            record.grows_to,
            message.prior,
            message.people,
            None if several is None else _gamma(several.determined),
            message.budget.left_for_record,
            max((one.records for one in message.changed), default=0),
            tuple(message.warnings),
            message,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return what was disclosed of the record, by each owner and of each column, a row each.

        Columns: `of` (`record`, `record, columns independent`, `owner`, `column`, `masked
        column`), `owner`, `variable`, `epsilon`, `gamma`, `grows_to`. What was told as it is has an
        infinite epsilon, and so has a masked column, which carries no gamma.
        """
        import pandas as pd

        said = self._message
        plain = AmplificationMessage(epsilon=None, gamma=None, grows_to=1.0)
        rows = [
            ("record", None, None, said.record.determined),
            ("record, columns independent", None, None, said.record.independent),
            *(("owner", one.owner, None, one.determined) for one in said.owners),
            *(("column", c.owner, c.variable, c.amplification or plain) for c in said.columns),
            *(
                ("masked column", one.owner, name, plain)
                for one in said.unbounded
                for name in one.confidential
            ),
        ]
        return pd.DataFrame(
            [
                (of, owner, variable, _epsilon(loss), _gamma(loss), loss.grows_to)
                for of, owner, variable, loss in rows
            ],
            columns=["of", "owner", "variable", "epsilon", "gamma", "grows_to"],
        )

    def __repr__(self) -> str:
        left = "" if self.left is None else f"; epsilon {self.left:.4g} of the budget is left"
        changed = f"; {self.changed:,} records are known to have changed" if self.changed else ""
        apart = self._message.unbounded
        unbounded = "; nothing bounds what other releases tell" if apart else ""
        warned = "; see warnings" if self.warnings else ""
        several = (
            ""
            if self.gamma_at_several is None
            else f"; gamma {self.gamma_at_several:.4g} for a person whom all owners know, if the"
            " study is wrong on its people"
        )
        return (
            f"Told(whole record: {Amplification(self.epsilon).told}; a belief of"
            f" {self.prior:.0%} can grow to {self.grows_to:.4g}{several}{left}{changed}"
            f"{unbounded}{warned})"
        )


def releases_frame(
    releases: Sequence[Release], in_use: Sequence[str], active: Collection[str]
) -> pd.DataFrame:
    """Return releases, one a row; see `Study.releases`. `active` owners were not removed."""
    import pandas as pd

    # The alignment, which says what is in use, is about randomized records alone.
    beside = _sealed_last(one for one in releases if one.kind != RANDOMIZED and one.owner in active)
    rows = [
        {
            "id": one.id,
            "owner": one.owner,
            "name": one.name,
            "state": one.state,
            "in_use": one.id in in_use or one.id in beside,
            "records": one.records,
            "kind": one.kind,
            "variables": one.variables,
            "consistency": one.consistency.state if one.consistency else None,
            "p_value": one.consistency.p_value if one.consistency else None,
            "changed": max((block.changed for block in one.repeated or ()), default=0),
            "plan_digest": one.plan_digest,
            "sealed": one.sealed,
        }
        for one in releases
    ]
    # Where a terminal has no room for all, the first and the last are shown.
    columns = [
        "owner", "state", "in_use", "records", "consistency", "changed", "kind", "variables",
        "p_value", "plan_digest", "sealed", "name", "id",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns).astype({"p_value": float, "in_use": bool})


def _sealed_last(releases: Iterable[Release]) -> set[str]:
    """Return the ids of those that their owner sealed last of their kind, unless withdrawn."""
    sealed = [(one.sealed, one) for one in releases if one.sealed is not None]
    last = {(one.owner, one.kind): one for _, one in sorted(sealed, key=lambda pair: pair[0])}
    return {one.id for one in last.values() if one.state == "sealed"}


def _epsilon(amplification: AmplificationMessage) -> float:
    return math.inf if amplification.epsilon is None else amplification.epsilon


def _gamma(amplification: AmplificationMessage) -> float:
    return math.inf if amplification.gamma is None else amplification.gamma

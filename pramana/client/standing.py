"""The state of a study: which records its owners have in common, and what its releases disclose."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from pramana_core.report.numbers import belief, percent
from pramana_core.rounding import rounded_down
from pramana_core.wire.privacy import AmplificationMessage, StudyPrivacy
from pramana_core.wire.release_kinds import RANDOMIZED
from pramana_core.wire.releases import Alignment as AlignmentMessage
from pramana_core.wire.releases import Release, secrets_differ

if TYPE_CHECKING:
    import pandas as pd


class Alignment(AlignmentMessage):
    """The match of records between owners, according to the releases in use.

    Attributes:
        state: `identical`, all owners reported the same records; `partial`, all owners have
            `in_all` of the `in_any` records; `disjoint`, no record is at every owner; `waiting`,
            the owners in `missing` have no release yet; `no-records`, all releases in use are
            shared trees, which contain no records.
        in_all: the count of records at every owner; None if the caller may not see it.
        in_any: the count of records at one or more owners; None if the caller may not see it.
        missing: the owners without a release in use.
        secrets: `same`, all releases use one linkage secret; `different`, some owners use other
            secrets, so a person's pseudonyms differ; `unknown`, a release states no fingerprint of
            its secret.
    """

    @property
    def releases(self) -> tuple[str, ...]:
        """The ids of the releases in use, one per owner."""
        return tuple(owner.release for owner in self.owners)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per owner: `owner`, `release`, `records`, `not_everywhere`.

        `not_everywhere` counts the owner's records that at least one other owner does not have.
        """
        import pandas as pd

        names = ["owner", "release", "records", "not_everywhere"]
        rows = [owner.model_dump(include=set(names)) for owner in self.owners]
        return pd.DataFrame(rows, columns=names).astype({"not_everywhere": "Int64"})

    def __repr__(self) -> str:
        return f"Alignment({self.describe()})"

    __str__ = __repr__

    def describe(self) -> str:
        """Describe the state in a phrase, preceded by a warning if linkage secrets differ."""
        if self.secrets == "different":
            return f"{secrets_differ(self.secret_groups)} {self._state()}"
        return self._state()

    def _state(self) -> str:
        match self.state:
            case "waiting":
                return f"waiting for {', '.join(self.missing) or 'a first release'}"
            case "no-records":
                return "no records: all releases in use are shared trees"
            case "identical":
                return f"the same {self.in_all:,} records at every owner"
            case "partial" if self.in_all is not None:
                return f"{self.in_all:,} of {self.in_any:,} records at every owner"
            case "disjoint":
                return "no record is at every owner"
        return "the owners' records differ"


class Disclosure(StudyPrivacy):
    """What all releases of a study disclose about one person, as the miner computes it.

    Attributes:
        record: the amplification of the whole record over all owners, at both extremes.
        central: the bound against anyone who cannot assign reports to people: the miner alone, an
            analyst, the public. If `central.epsilon` is None, `central.unstated` gives the reason.
        prior: a prior belief, usually 5 %. Disclosure can raise this belief to `grows_to`.
        people: whether owners have records of the `same`, `different` or `overlapping` people.
            Losses add up over the owners unless the people are different.
        at_several: the sum over the owners, for a person of whom every owner has a record; given if
            the study declares that its owners have different people.
        budget: the study's limit on disclosure, and what remains of the limit.
        changed: by owner and block, the count of records whose reports differ between releases with
            the same draws. The true values of these records changed, and no epsilon bounds what
            that reveals.
        warnings: sentences on releases that contradict the study's declaration of its people or
            could not be checked against it, and on a record's loss that exceeds what an owner or
            the study's plan states.
    """

    @property
    def epsilon(self) -> float:
        """The largest change in the log odds of any belief about a record."""
        return self.record.determined.to_amplification().epsilon

    @property
    def gamma(self) -> float:
        """The largest factor by which the odds of any belief about a record change."""
        return self.record.determined.to_amplification().gamma

    @property
    def grows_to(self) -> float:
        """The largest belief that a prior belief of `prior` can become."""
        return self.record.determined.grows_to

    def to_frame(self) -> pd.DataFrame:
        """Return one row for the disclosure of the record, of each owner, and of each column.

        Columns: `of` (`record`, `record, columns independent`, `owner`, `column`, `masked
        column`), `owner`, `variable`, `epsilon`, `gamma`, `grows_to`. Epsilon is infinite for
        columns that were released unchanged or masked.
        """
        import pandas as pd

        plain = AmplificationMessage(epsilon=None, gamma=None, grows_to=1.0)
        rows = [
            ("record", None, None, self.record.determined),
            ("record, columns independent", None, None, self.record.independent),
            *(("owner", one.owner, None, one.determined) for one in self.owners),
            *(("column", c.owner, c.variable, c.amplification or plain) for c in self.columns),
            *(
                ("masked column", one.owner, name, plain)
                for one in self.unbounded
                for name in one.confidential
            ),
        ]
        numbers = ["epsilon", "gamma", "grows_to"]
        listed = [
            (of, owner, variable, *(getattr(loss, name) for name in numbers))
            for of, owner, variable, loss in rows
        ]
        frame = pd.DataFrame(listed, columns=["of", "owner", "variable", *numbers])
        return frame.astype(dict.fromkeys(numbers, float)).fillna(
            dict.fromkeys(numbers[:2], math.inf)
        )

    def __repr__(self) -> str:
        loss = self.record.determined.to_amplification()
        words = [
            f"whole record: {loss.told}",
            f"a belief of {percent(self.prior)} can grow to {belief(loss, self.prior)}",
        ]
        if self.central is not None and self.central.epsilon is not None:
            words.append(self.central.description)
        if self.at_several is not None:
            several = self.at_several.determined.to_amplification().written_gamma
            words.append(
                f"gamma {several} for a person at all owners, if people are wrongly declared"
            )
        if self.budget.left_for_record is not None:
            words.append(
                f"epsilon {rounded_down(self.budget.left_for_record)} of the budget is left"
            )
        if self.changed:
            most = max(one.records for one in self.changed)
            words.append(f"{most:,} records changed in value")
        if self.unbounded:
            words.append("other releases have no bound on disclosure")
        if self.warnings:
            words.append("see warnings")
        return f"Disclosure({'; '.join(words)})"

    __str__ = __repr__


def releases_frame(
    releases: Sequence[Release], in_use: Sequence[str], active: Collection[str]
) -> pd.DataFrame:
    """Return the frame of `Study.releases`. `active` lists the owners who have not been removed."""
    import pandas as pd

    # The alignment, which names the releases in use, covers randomized records only.
    others = _sealed_last(one for one in releases if one.kind != RANDOMIZED and one.owner in active)
    # A narrow terminal shows the first and the last columns.
    columns = [
        "owner", "state", "in_use", "records", "consistency", "changed", "kind", "variables",
        "p_value", "plan_digest", "sealed", "name", "id",
    ]  # fmt: skip
    rows = [
        {
            **{name: getattr(one, name) for name in columns if hasattr(one, name)},
            "in_use": one.id in in_use or one.id in others,
            "consistency": one.consistency.state if one.consistency else None,
            "p_value": one.consistency.p_value if one.consistency else None,
            "changed": max((block.changed for block in one.repeated or ()), default=0),
        }
        for one in releases
    ]
    return pd.DataFrame(rows, columns=columns).astype({"p_value": float, "in_use": bool})


def _sealed_last(releases: Iterable[Release]) -> set[str]:
    sealed = [(one.sealed, one) for one in releases if one.sealed is not None]
    last = {(one.owner, one.kind): one for _, one in sorted(sealed, key=lambda pair: pair[0])}
    return {one.id for one in last.values() if one.state == "sealed"}

"""Whether a release agrees with its plan: asked once, when it is sealed, and never in its way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from shared.errors import PramanaError
from shared.estimation.plausibility.examination import examine
from shared.wire.parts import Values
from shared.wire.releases import Consistency
from shared.wire.releases.base import ReleaseKind

log = logging.getLogger(__name__)

Load = Callable[[Sequence[str]], dict[str, Values]]
"""Returns columns of the release by their names."""


def examined(release: str, kind: ReleaseKind[Any, Any], content: Any, load: Load) -> Consistency:
    """Return what the reports of a release say of its plan, if it has one.

    Whatever goes wrong is an answer too: a release that cannot be examined is sealed all the same.
    """
    plan = kind.plan(content)
    if plan is None:
        return _not_examined(kind.unexamined or "")
    try:
        found = examine(load(list(plan.reported_sizes)), plan)
    except PramanaError as error:
        return _not_examined(error.message)
    except Exception:
        log.exception("release %s could not be examined", release)
        return _not_examined("The examination failed; the service's log says how.")
    if not found.tables:
        why = "Its tables are too large." if found.left_out else "No column of it is randomized."
        return _not_examined(why, found.left_out)
    return Consistency(
        state="inconsistent" if found.inconsistent else "consistent",
        p_value=found.p_value,
        variables=list(found.worst),
        tables=len(found.tables),
        left_out=found.left_out,
        reason=None,
    )


def _not_examined(reason: str, left_out: int = 0) -> Consistency:
    return Consistency(
        state="not-examined",
        p_value=None,
        variables=[],
        tables=0,
        left_out=left_out,
        reason=reason,
    )

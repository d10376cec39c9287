"""What a site file says of the study's plan."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class StudyPlanSection(BaseModel):
    """The file of the study's plan, and the digest that the custodian approved.

    Without `digest` the file is the approved plan, whatever is in it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Annotated[str, StringConstraints(min_length=1)]
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None

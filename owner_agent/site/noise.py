"""The noise that a site file may demand on all that its owner shares of its true records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

_Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Demand(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    epsilon: _Epsilon
    max_epsilon: _Epsilon


class LaplaceNoise(_Demand):
    """Discrete Laplace noise: what a session tells is `epsilon`-differentially private.

    The records are known, and their values are what is protected. `max_epsilon` is what all
    sessions together may cost: without it, averages over enough sessions would tell every count.
    """

    kind: Literal["laplace"]
    delta: Literal[0] = 0


class GaussianNoise(_Demand):
    """Discrete Gaussian noise: a session is (`epsilon`, `delta`)-differentially private.

    Less noise than Laplace's where many tables are told, for a `delta` well below one over the
    number of records.
    """

    kind: Literal["gaussian"]
    delta: Annotated[float, Field(gt=0, lt=0.1)]


NoiseDemand = Annotated[LaplaceNoise | GaussianNoise, Field(discriminator="kind")]

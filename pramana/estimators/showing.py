"""How estimators show themselves: pictures, and what a notebook prints."""

from __future__ import annotations


class Shown:
    """What every estimator has of pictures."""

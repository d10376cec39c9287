"""Conditional probabilities of networks, and their links."""

from __future__ import annotations

from benchmarks.coverage.setting import Setting

SETTINGS: tuple[Setting, ...] = ()

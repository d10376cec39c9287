"""Supports, rules and the verdicts on them."""

from __future__ import annotations

from benchmarks.coverage.setting import Setting

SETTINGS: tuple[Setting, ...] = ()

"""Leaves and splits of decision trees."""

from __future__ import annotations

from benchmarks.coverage.setting import Setting

SETTINGS: tuple[Setting, ...] = ()

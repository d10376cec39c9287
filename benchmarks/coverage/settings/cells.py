"""Cells of tables, by moments and by maximum likelihood."""

from __future__ import annotations

from benchmarks.coverage.setting import Setting

SETTINGS: tuple[Setting, ...] = ()

"""Weights of linear classifiers."""

from __future__ import annotations

from benchmarks.coverage.setting import Setting

SETTINGS: tuple[Setting, ...] = ()

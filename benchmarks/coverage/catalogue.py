"""What is repeated, by what is estimated.

How a setting is repeated and counted is in `benchmarks.coverage.setting`.
"""

from benchmarks.coverage import (
    cells,
    learned,
    log_linear,
    masked,
    sampled_rules,
    standard_errors,
)
from benchmarks.coverage.setting import Setting

ALL: tuple[Setting, ...] = (
    *cells.SETTINGS,
    *standard_errors.SETTINGS,
    *log_linear.POOLED,
    *log_linear.TOGETHER,
    *log_linear.NETWORKS,
    *learned.SETTINGS,
    *sampled_rules.SETTINGS,
    *learned.TREES,
    *learned.CLASSIFIERS,
    *masked.SETTINGS,
)
"""Every setting, in the order of the table in docs/coverage.md."""

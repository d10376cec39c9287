"""What is repeated, by what is estimated.

How a setting is repeated and counted is in `benchmarks.coverage.setting`.
"""

from benchmarks.coverage.setting import Setting
from benchmarks.coverage.settings import (
    cells,
    classifiers,
    log_linear,
    masked,
    pooled,
    rules,
    trees,
)

ALL: tuple[Setting, ...] = (
    *cells.SETTINGS,
    *log_linear.SETTINGS,
    *pooled.SETTINGS,
    *log_linear.TOGETHER,
    *log_linear.NETWORKS,
    *rules.SETTINGS,
    *trees.SETTINGS,
    *classifiers.SETTINGS,
    *masked.SETTINGS,
)
"""Every setting, in the order of the table in docs/coverage.md."""

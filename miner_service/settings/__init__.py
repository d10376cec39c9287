"""The settings of a miner: where it keeps its data, where it listens, how much it accepts.

One module for each section, frozen and checked when it is made. Nothing is opened here.
"""

from miner_service.settings.settings import (
    MEBIBYTE,
    Clock,
    JobSettings,
    Limits,
    Quotas,
    Settings,
    StorageSettings,
    TokenSettings,
    WebSettings,
    is_loopback,
    utc_now,
)

__all__ = [
    "MEBIBYTE",
    "Clock",
    "JobSettings",
    "Limits",
    "Quotas",
    "Settings",
    "StorageSettings",
    "TokenSettings",
    "WebSettings",
    "is_loopback",
    "utc_now",
]

"""The settings of a miner: where it keeps its data, where it listens, how much it accepts.

One module for each section, frozen and checked when it is made. Nothing is opened here.
"""

from miner_service.settings.jobs import JobSettings
from miner_service.settings.limits import MEBIBYTE, Limits, Quotas
from miner_service.settings.settings import Clock, Settings, is_loopback, utc_now
from miner_service.settings.storage import StorageSettings
from miner_service.settings.tokens import TokenSettings
from miner_service.settings.web import WebSettings

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

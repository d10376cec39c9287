"""Where a log ended at an earlier moment, against reading all of it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from pramana_core.audit.log import AuditLog, head_before
from pramana_core.audit.verifying import Head

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("lines", [0, 1, 40, 120])
def test_it_is_the_last_line_written_before(tmp_path, lines):
    rng = np.random.default_rng(lines)
    path, now = tmp_path / "audit.jsonl", [START]
    log = AuditLog(path, lambda: now[0])
    for _ in range(lines):
        now[0] += timedelta(seconds=int(rng.integers(0, 3)))
        log.write({"action": "a" * int(rng.integers(1, 3000))})
    told = [json.loads(line) for line in path.read_text().splitlines()] if lines else []
    for second in range(-1, int((now[0] - START).total_seconds()) + 3):
        moment = START + timedelta(seconds=second)
        before = [line for line in told if datetime.fromisoformat(line["time"]) < moment]
        expected = Head(len(before), before[-1]["hash"]) if before else Head()
        assert log.anchor(moment).head == expected.hash
        assert log.anchor(moment).entries == expected.entries


def test_an_empty_file_holds_nothing(tmp_path):
    path = tmp_path / "log"
    path.touch()
    descriptor = os.open(path, os.O_RDONLY)
    assert head_before(descriptor, START) == Head()
    os.close(descriptor)

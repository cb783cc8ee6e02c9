from __future__ import annotations

import subprocess
import sys
import time

import pytest

from sapwood_lab.benchmarks import processes
from sapwood_lab.benchmarks.processes import Used, can_tell, used

BUSY = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"


@pytest.mark.skipif(not can_tell(), reason="this system does not tell of its processes")
def test_used_counts_this_process_and_those_it_has_started() -> None:
    before = used()
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while_running = used().since(before)
        process.communicate(b"\n")
    assert while_running.python_s >= 0.15
    # Spark may be at rest beside it, in the process of these tests.
    assert while_running.java_s < while_running.python_s / 2


@pytest.mark.skipif(not can_tell(), reason="this system does not tell of its processes")
def test_used_grows_with_work() -> None:
    before, begin = used(), time.process_time()
    while time.process_time() - begin < 0.1:
        pass
    assert used().since(before).total_s >= 0.05


def test_used_is_nothing_where_the_system_does_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "running", dict)
    assert not can_tell()
    assert used() == Used(0.0, 0.0)

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.pipeline.spark import usage
from sapwood.pipeline.spark.usage import Meter, Process, Usage, family, metered, running

FIRST = {
    1: Process(0, "init", 5, 100.0),
    2: Process(1, "python", 10, 3.0),
    3: Process(2, "java", 100, 1.0),
    4: Process(3, "python", 20, 0.0),
}


def test_a_family_is_the_root_and_all_that_descends_from_it() -> None:
    assert family(FIRST, 2) == {2, 3, 4}
    assert family(FIRST, 4) == {4}
    assert family(FIRST, 9) == set()


def test_a_meter_keeps_the_most_memory_of_each_kind_and_of_all_at_one_moment() -> None:
    meter = Meter(2)
    assert meter.usage is None
    meter.look(FIRST)
    assert meter.usage == Usage(130, 100, 30, 0.0)
    meter.look({**FIRST, 3: Process(2, "java", 40, 5.0), 4: Process(3, "python", 70, 2.0)})
    # A process that has ended has still taken its time.
    meter.look({2: FIRST[2], 5: Process(2, "python", 1, 0.5)})
    assert meter.usage == Usage(130, 100, 80, 6.5)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_this_process_is_metered_for_the_length_of_a_block() -> None:
    with metered() as meter:
        pass
    assert meter.usage is not None
    assert meter.usage.peak_bytes >= meter.usage.python_peak_bytes > 1 << 20
    assert meter.usage.cpu_s >= 0
    assert os.getpid() in running()


def test_nothing_is_known_where_processes_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(usage, "_PROC", tmp_path / "nowhere")
    with metered() as meter:
        pass
    assert meter.usage is None


def test_processes_are_read_whatever_they_are_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "7").mkdir()
    fields = " ".join(str(number) for number in range(4, 40))
    (tmp_path / "7" / "stat").write_text(f"7 (a) (b) S {fields}")
    (tmp_path / "8").mkdir()  # has ended: its file is gone
    (tmp_path / "meminfo").write_text("")
    monkeypatch.setattr(usage, "_PROC", tmp_path)
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    assert running() == {7: Process(4, "a) (b", 24 * page, (14 + 15) / tick)}


def test_what_a_jvm_has_forked_is_not_counted_before_it_runs_its_own_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fields = " ".join(str(number) for number in range(4, 40))
    for pid, command, program in ((1, "java", "java"), (2, "Executor task", "java"), (3, "sh", "")):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} ({command}) S {fields}")
        if program:
            (folder / "exe").symlink_to(tmp_path / "bin" / program)
    monkeypatch.setattr(usage, "_PROC", tmp_path)
    assert {pid: process.command for pid, process in running().items()} == {1: "java", 3: "sh"}

from pathlib import Path

import pytest

from sapwood.pipeline.spark.jvm_memory import LEAST_BYTES, MOST_BYTES, heap_bytes, machine_bytes

GIB = 1 << 30


@pytest.mark.parametrize(
    ("machine", "heap"),
    [(1 * GIB, LEAST_BYTES), (16 * GIB, 4 * GIB), (24 * GIB, 6 * GIB), (512 * GIB, MOST_BYTES)],
)
def test_the_jvm_takes_a_quarter_of_the_machine_within_bounds(machine: int, heap: int) -> None:
    assert heap_bytes(machine) == heap


def test_a_control_group_bounds_the_machine(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    physical = machine_bytes(limit)
    assert physical > 1 << 20
    limit.write_text("1048576\n")
    assert machine_bytes(limit) == 1 << 20
    limit.write_text("max\n")
    assert machine_bytes(limit) == physical
    limit.write_text(f"{1 << 62}\n")
    assert machine_bytes(limit) == physical


def test_a_system_that_does_not_tell_has_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_name: str) -> int:
        raise ValueError

    monkeypatch.setattr("os.sysconf", unknown)
    assert heap_bytes(machine_bytes(Path("/nowhere"))) == LEAST_BYTES

"""The machine behind the figures is described."""

from __future__ import annotations

from sapwood_lab.benchmarks.machine import describe_machine, stream_bytes_per_s


def test_describe_machine_names_processor_python_and_libraries() -> None:
    described = describe_machine()
    assert described["processor"]
    assert described["python"].startswith("3.")
    assert described["numpy"] != "not installed"
    assert all(isinstance(value, str) for value in described.values())


def test_stream_bytes_per_s_is_that_of_a_sum() -> None:
    assert stream_bytes_per_s(1 << 20) > 1e7

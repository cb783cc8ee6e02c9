"""The machine behind the figures is described."""

from __future__ import annotations

from sapwood.cli.benchmarks.machine import describe_machine


def test_describe_machine_names_processor_python_and_libraries() -> None:
    described = describe_machine()
    assert described["processor"]
    assert described["python"].startswith("3.")
    assert described["numpy"] != "not installed"
    assert all(isinstance(value, str) for value in described.values())

"""`scripts/gate.py`: all steps run, the last lines say how long each took and how it went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from threading import Event
from typing import Any

import pytest

from tests.scripts.loading import load


@pytest.mark.parametrize(
    ("failing", "status", "last"),
    [
        ((), 0, "gate: passed (style, format, types, kernels, spark, brokers, simulation, others)"),
        (("scripts.check_types",), 1, "gate: FAILED: types"),
        (("ruff", "pytest"), 1, "gate: FAILED: style, format, spark, brokers, simulation, others"),
    ],
)
def test_gate_runs_all_steps_and_says_which_failed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failing: tuple[str, ...],
    status: int,
    last: str,
) -> None:
    gate = load("gate")
    ran: list[str] = []

    def run(command: Sequence[str], *, stdout: int | None, **_: Any) -> CompletedProcess[str]:
        module = command[command.index("-m") + 1]
        ran.append(module)
        said = None if stdout is None else f"{module} says\n"
        return CompletedProcess(command, int(module in failing), said)

    monkeypatch.setattr(gate.subprocess, "run", run)
    assert gate.main() == status
    assert sorted(ran) == [
        *["pytest"] * 4,
        "ruff",
        "ruff",
        "scripts.check_types",
        "scripts.kernels",
    ]
    printed = capsys.readouterr().out.splitlines()
    assert printed.index("scripts.kernels says") < printed.index("gate: others ...")
    assert printed.index("scripts.check_types says") == printed.index("gate: others ...") + 2
    assert re.fullmatch(
        r"gate: \d+ s: style \d+ s, format \d+ s, types \d+ s beside others, "
        r"kernels \d+ s beside others, spark \d+ s beside others, brokers \d+ s beside others, "
        r"simulation \d+ s beside others, others \d+ s",
        printed[-2],
    )
    assert printed[-1] == last


def test_every_module_of_tests_is_in_one_part() -> None:
    gate = load("gate")
    modules = [
        path.relative_to(gate.ROOT)
        for suite in gate.SUITES
        for path in (gate.ROOT / suite).rglob("test_*.py")
    ]

    def is_in(module: Path, paths: Sequence[str]) -> bool:
        return any(module.is_relative_to(path) for path in paths)

    for module in modules:
        parts = [
            name
            for name, part in gate.PARTS.items()
            if is_in(module, part.paths) and not is_in(module, part.left_out)
        ]
        assert len(parts) == 1, module
    for part in gate.PARTS.values():
        assert all((gate.ROOT / path).exists() for path in (*part.paths, *part.left_out))


def test_kernels_are_compiled_before_any_test_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = load("gate")
    ran: list[str] = []
    compiled = Event()

    def run(command: Sequence[str], **_: Any) -> CompletedProcess[str]:
        module = command[command.index("-m") + 1]
        if module == "scripts.check_types":
            compiled.wait()  # the tests do not wait for the types, nor the types for the tests
        if module == "scripts.kernels":
            compiled.set()
        ran.append(module)
        return CompletedProcess(command, 0, "")

    monkeypatch.setattr(gate.subprocess, "run", run)
    assert gate.main() == 0
    assert ran.index("scripts.kernels") < ran.index("pytest")

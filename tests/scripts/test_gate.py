"""`scripts/gate.py`: all steps run, the last lines say how long each took and how it went."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.scripts.loading import load


@pytest.mark.parametrize(
    ("failing", "status", "last"),
    [
        ((), 0, "gate: passed (style, format, types, kernels, tests)"),
        (("scripts.check_types",), 1, "gate: FAILED: types"),
        (("ruff", "pytest"), 1, "gate: FAILED: style, format, tests"),
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
        if command[2] == "pytest":
            assert command[-2] == "--begin-after"
            assert os.read(int(command[-1]), 1) == b""  # which ends when the kernels are compiled
            assert "scripts.kernels" in ran
        ran.append(command[2])
        said = None if stdout is None else f"{command[2]} says\n"
        return CompletedProcess(command, int(command[2] in failing), said)

    monkeypatch.setattr(gate.subprocess, "run", run)
    assert gate.main() == status
    assert sorted(ran) == ["pytest", "ruff", "ruff", "scripts.check_types", "scripts.kernels"]
    printed = capsys.readouterr().out.splitlines()
    assert printed.index("scripts.kernels says") < printed.index("gate: tests ...")
    assert printed.index("scripts.check_types says") == printed.index("gate: tests ...") + 2
    assert re.fullmatch(
        r"gate: \d+ s: style \d+ s, format \d+ s, types \d+ s beside others, "
        r"kernels \d+ s beside others, tests \d+ s",
        printed[-2],
    )
    assert printed[-1] == last

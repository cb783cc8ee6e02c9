"""`scripts/gate.py`: all steps run, the last lines say how long each took and how it went."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.scripts.loading import load


@pytest.mark.parametrize(
    ("failing", "status", "last"),
    [
        ((), 0, "gate: passed (style, format, types, kernels, modules, tests)"),
        (("mypy",), 1, "gate: FAILED: types"),
        (("ruff", "pytest"), 1, "gate: FAILED: style, format, modules, tests"),
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
        ran.append(command[2])
        said = None if stdout is None else f"{command[2]} says\n"
        return CompletedProcess(command, int(command[2] in failing), said)

    monkeypatch.setattr(gate.subprocess, "run", run)
    monkeypatch.setattr(gate, "version", lambda _: "of nobody")
    assert gate.main() == status
    assert sorted(ran) == ["mypy", "pytest", "pytest", "ruff", "ruff", "scripts.kernels"]
    printed = capsys.readouterr().out.splitlines()
    assert printed.index("scripts.kernels says") < printed.index("gate: tests ...")
    assert printed.index("mypy says") == printed.index("gate: tests ...") + 2
    # What is quiet says something only if it fails.
    assert ("pytest says" in printed) == ("pytest" in failing)
    assert re.fullmatch(
        r"gate: \d+ s: style \d+ s, format \d+ s, types \d+ s beside others, "
        r"kernels \d+ s beside others, modules \d+ s beside others, tests \d+ s",
        printed[-2],
    )
    assert printed[-1] == last


def test_modules_are_compiled_where_most_have_not_been(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gate = load("gate")
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    kept = tmp_path / "tests" / "room" / "__pycache__"
    kept.mkdir(parents=True)
    for name in ("test_a", "test_b"):
        (kept.parent / f"{name}.py").touch()
    assert gate.has_modules_to_compile()
    ending = f"{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"
    (kept / f"test_a.{ending}").touch()
    assert not gate.has_modules_to_compile()

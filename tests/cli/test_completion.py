"""A shell is told of commands, options and values, and no command is imported for their names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import COMMANDS, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_asks_sapwood(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert "_SAPWOOD_COMPLETE" in result.stdout


def test_another_shell_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(main, ["completion", "csh"])
    assert result.exit_code == 2
    assert "bash" in result.stderr


def completed(*words: str) -> list[str]:
    """The completions that bash gets for the last word."""
    environment = {
        **os.environ,
        "_SAPWOOD_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("sapwood", *words)),
        "COMP_CWORD": str(len(words)),
    }
    program = "import sys; sys.argv = ['sapwood']; from sapwood.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_options_and_values_are_completed(tmp_path: Path) -> None:
    assert completed("") == [*COMMANDS]
    assert completed("pu") == ["publish"]
    assert "--no-spark" in completed("demo", "--")
    assert completed("completion", "z") == ["zsh"]

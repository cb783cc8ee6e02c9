"""`scripts/find-python`: which Python, or what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "find-python"


class Machine:
    """A machine whose PATH holds the commands that a test puts there, and nothing else."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def command(self, name: str, *lines: str) -> None:
        """Add a command that is a shell script."""
        file = self.path / name
        file.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
        file.chmod(0o755)

    def python(self, name: str, answer: str, status: int = 0) -> None:
        """Add a Python that answers the script's questions like this."""
        self.command(name, "/bin/cat >/dev/null", f"echo {answer}", f"exit {status}")

    def find(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(SCRIPT)],
            check=False,
            capture_output=True,
            text=True,
            env={"PATH": str(self.path), **environment},
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_find_python_prints_this_python() -> None:
    found = Machine(Path(os.devnull)).find(PYTHON=sys.executable)
    assert found.returncode == 0
    assert os.path.samefile(found.stdout.strip(), sys.executable)


def test_find_python_prefers_the_newest(machine: Machine) -> None:
    machine.python("python3", "/usr/bin/python3")
    machine.python("python3.11", "/usr/bin/python3.11")
    machine.python("python3.12", "/usr/bin/python3.12")
    assert machine.find().stdout == "/usr/bin/python3.12\n"


def test_find_python_passes_over_what_is_too_old_or_does_not_run(machine: Machine) -> None:
    machine.command("python3.13", "echo 'version manager: no such version' >&2", "exit 127")
    machine.python("python3.12", "", status=2)
    machine.python("python3", "/usr/bin/python3")
    found = machine.find()
    assert (found.returncode, found.stdout, found.stderr) == (0, "/usr/bin/python3\n", "")


def test_find_python_passes_over_one_that_cannot_make_an_environment(machine: Machine) -> None:
    machine.python("python3.12", "", status=3)
    machine.python("python3.11", "/usr/bin/python3.11")
    assert machine.find().stdout == "/usr/bin/python3.11\n"


def test_find_python_names_the_missing_debian_package(machine: Machine) -> None:
    machine.command("python3", "case $1 in -c) echo 3.11 ;; *) exit 3 ;; esac")
    found = machine.find()
    assert (found.returncode, found.stdout) == (1, "")
    assert "sudo apt-get install python3.11-venv" in found.stderr


def test_find_python_says_what_was_tried_when_there_is_none(machine: Machine) -> None:
    found = machine.find()
    assert (found.returncode, found.stdout) == (1, "")
    assert "No Python from 3.11 to 3.14 was found" in found.stderr
    assert "make setup PYTHON=" in found.stderr


def test_find_python_takes_no_other_than_the_one_it_is_told(machine: Machine) -> None:
    machine.python("python3", "/usr/bin/python3")
    found = machine.find(PYTHON="python3.9")
    assert found.returncode == 1
    assert "tried: python3.9" in found.stderr

"""`scripts/setup.py`: what is done again, and what is not, with pip and Java recorded only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.scripts.loading import load


class Workshop:
    """A copy of what setup reads, and a record of the commands it would run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.setup = load("setup")
        self.root = root
        self.venv = root / ".venv"
        self.commands: list[str] = []
        #: How often Java is looked for before it is found.
        self.java_misses = 0
        #: Commands that hold this text fail; "" is in all of them, so `None` is none.
        self.failing: str | None = None
        (root / "requirements").mkdir()
        projects = (root, root / "lab")
        for project in projects:
            project.mkdir(exist_ok=True)
            (project / "pyproject.toml").write_text("[project]", encoding="utf-8")
        for name in ("build", "lock", "jvm"):
            (root / "requirements" / f"{name}.txt").write_text(f"{name}==1", encoding="utf-8")
        for name, value in {
            "ROOT": root,
            "REQUIREMENTS": root / "requirements",
            "PROJECTS": projects,
        }.items():
            monkeypatch.setattr(self.setup, name, value)
        monkeypatch.setattr(self.setup, "VENV", self.venv)
        monkeypatch.setattr(self.setup.subprocess, "run", self.run)

    def run(self, command: Sequence[str], **_: Any) -> CompletedProcess[str]:
        """Stands for `subprocess.run`."""
        text = " ".join(command).replace(f"{self.root}/", "")
        if text.endswith("sapwood.pipeline.spark.java"):
            self.java_misses -= 1
            return CompletedProcess(command, int(self.java_misses >= 0))
        if "-m venv" in text:
            python = self.venv / "bin" / "python"
            python.parent.mkdir(parents=True, exist_ok=True)
            python.symlink_to(sys.executable)
        self.commands.append(text)
        return CompletedProcess(command, int(self.failing is not None and self.failing in text))

    def main(self) -> tuple[int, str]:
        """Run setup; its status, and a letter for each thing done."""
        self.commands.clear()
        status = self.setup.main()
        letters = {
            "-m venv --clear": "v",
            "build.txt": "b",
            "lock.txt": "l",
            "--editable": "e",
            "jvm.txt": "j",
        }
        done = "".join(
            letter for text in self.commands for part, letter in letters.items() if part in text
        )
        return status, done


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    return Workshop(tmp_path, monkeypatch)


def test_setup_does_everything_in_order_the_first_time(workshop: Workshop) -> None:
    assert workshop.main() == (0, "vble")
    assert (workshop.venv / ".complete").is_file()


def test_setup_installs_only_what_is_pinned_and_hashed(workshop: Workshop) -> None:
    workshop.java_misses = 1
    workshop.main()
    installs = [command for command in workshop.commands if "pip install" in command]
    assert len(installs) == 4
    assert all("--no-deps" in text for text in installs)
    assert all("--require-hashes" in text or "--editable" in text for text in installs)
    assert all("--no-build-isolation" in text for text in installs if "lock.txt" in text)


def test_setup_does_nothing_when_nothing_has_changed(workshop: Workshop) -> None:
    workshop.main()
    assert workshop.main() == (0, "")


@pytest.mark.parametrize("name", ["build", "lock"])
def test_setup_begins_anew_when_the_pins_change(workshop: Workshop, name: str) -> None:
    workshop.main()
    (workshop.venv / "bin" / "python").unlink()
    (workshop.root / "requirements" / f"{name}.txt").write_text("other==2", encoding="utf-8")
    assert workshop.main() == (0, "vble")


@pytest.mark.parametrize("project", [".", "lab"])
def test_setup_installs_only_the_projects_when_only_these_have_changed(
    workshop: Workshop, project: str
) -> None:
    workshop.main()
    (workshop.root / project / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert workshop.main() == (0, "e")


def test_setup_begins_anew_when_the_python_is_gone(workshop: Workshop) -> None:
    workshop.main()
    (workshop.venv / "bin" / "python").unlink()
    assert workshop.main() == (0, "vble")


def test_setup_brings_a_java_when_there_is_none(workshop: Workshop) -> None:
    workshop.java_misses = 1
    assert workshop.main() == (0, "vblej")


@pytest.mark.parametrize(
    ("failing", "done"),
    [("-m venv", "v"), ("build.txt", "vb"), ("lock.txt", "vbl"), ("--editable", "vble")],
)
def test_setup_that_fails_is_not_complete_and_goes_on_where_it_must(
    workshop: Workshop, failing: str, done: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.failing = failing
    assert workshop.main() == (2, done)
    assert not (workshop.venv / ".complete").exists()
    assert "setup: " in capsys.readouterr().err
    workshop.failing = None
    if failing == "--editable":
        assert workshop.main() == (0, "e")
    else:
        (workshop.venv / "bin" / "python").unlink()
        assert workshop.main() == (0, "vble")


@pytest.mark.parametrize(("misses", "failing"), [(1, "jvm.txt"), (2, None)])
def test_setup_says_what_to_do_when_no_java_can_be_had(
    workshop: Workshop, misses: int, failing: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.java_misses, workshop.failing = misses, failing
    assert workshop.main() == (2, "vblej")
    assert "openjdk-17-jre-headless" in capsys.readouterr().err
    assert not (workshop.venv / ".complete").exists()


def test_setup_says_that_it_was_interrupted(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(workshop.setup, "install_packages", interrupt)
    assert workshop.setup.main() == 130
    assert "interrupted" in capsys.readouterr().err
    assert not (workshop.venv / ".complete").exists()

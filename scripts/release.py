"""Makes a release in `dist/`, and tries it as those who install it will.

Archives of the product and of its lab, a list of what a broker is made of (CycloneDX), manual
pages; then each archive in an environment of its own, under every Python there is of those that
Sapwood supports. Run by `make release`; nothing is published.
"""

# ruff: noqa: S603, T201 - it runs pip and what it installed, and talks to the person who called it

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
WORK: Final = ROOT / "build" / "release"
PINS: Final = ROOT / "requirements"
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")

TRIALS: Final = (
    ("--version",),
    ("--help",),
    ("covers", "x > 1", "x > 2"),
    ("protocols",),
    ("demo", "--no-spark", "--flights", "500"),
)
"""The commands that have to end well wherever the product is installed, without an extra."""

MANUAL: Final = """
import sys
from click_man.core import write_man_pages
from sapwood import __version__
from sapwood.cli.main import COMMANDS, main

main.commands.update({name: main.get_command(None, name) for name in COMMANDS})
write_man_pages("sapwood", main, version=__version__, target_dir=sys.argv[1])
"""
"""Manual pages want all commands at once, which the table imports one by one."""


def main() -> int:
    """Make and try everything; return the exit status."""
    for folder in (DIST, WORK):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    tools = environment(
        Path(sys.executable), "tools", "--require-hashes", "--no-deps", "-r", PINS / "release.txt"
    )
    for project in (ROOT, ROOT / "src" / "sapwood_lab"):
        run(tools / "python", "-m", "build", "--outdir", DIST, project)
    wheel, source = (only(pattern) for pattern in ("sapwood-*.whl", "sapwood-*.tar.gz"))
    broker = environment(
        Path(sys.executable), "broker", "--require-hashes", "--no-deps", "-r", PINS / "broker.txt"
    )
    pip(broker, "--no-deps", wheel)
    bill = DIST / f"{wheel.name.rsplit('-', 3)[0]}.cdx.json"
    run(tools / "cyclonedx-py", "environment", broker / "python", "--output-file", bill)
    pip(broker, "--require-hashes", "--no-deps", "-r", PINS / "release.txt")
    (DIST / "man").mkdir()
    run(broker / "python", "-c", MANUAL, DIST / "man")
    found = [python for version in VERSIONS if (python := named(version))]
    for python in found:
        tried(environment(python, f"wheel-{python.name}", wheel))
    tried(environment(found[-1], "source", source))
    print(f"release: {', '.join(sorted(path.name for path in DIST.iterdir()))}, in {DIST}")
    print(f"release: tried under {', '.join(python.name for python in found)}")
    if missing := [v for v in VERSIONS if not any(python.name.endswith(v) for python in found)]:
        print(f"release: NOT tried under {', '.join(missing)}, which this machine has not got")
        return 1
    return 0


def only(pattern: str) -> Path:
    """The one archive of this name."""
    (path,) = DIST.glob(pattern)
    return path


def named(version: str) -> Path | None:
    """The interpreter of a version: where pyenv keeps it, or on the path, if it answers."""
    name = f"python{version}"
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/{name}"))
    for path in (*reversed(kept), shutil.which(name)):
        if path and subprocess.run([path, "-V"], check=False, capture_output=True).returncode == 0:
            return Path(path)
    return None


def environment(python: Path, name: str, *packages: str | Path) -> Path:
    """Make an environment with some packages; returns where its commands are."""
    venv = WORK / name
    run(python, "-I", "-m", "venv", venv)
    pip(venv / "bin", *packages)
    return venv / "bin"


def pip(commands: Path, *arguments: str | Path) -> None:
    """Install into an environment."""
    run(commands / "python", "-I", "-m", "pip", "install", "-q", "--no-input", *arguments)


def tried(commands: Path) -> None:
    """Run what has to end well, in a folder of its own, with nothing compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        for trial in TRIALS:
            run(commands / "sapwood", *trial, folder=Path(folder))


def run(*words: str | Path, folder: Path = ROOT) -> None:
    """Run a command; what fails ends the release, with what it said."""
    command = [str(word) for word in words]
    print(f"release: {' '.join(shown(command))}", flush=True)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, check=False, cwd=folder, env=clean, text=True, stdout=-1, stderr=-2
    )
    if done.returncode:
        print(done.stdout)
        raise SystemExit(f"release: that ended with status {done.returncode}")


def shown(command: Sequence[str]) -> Iterator[str]:
    """The words of a command, without the folder of the repository."""
    return (word.removeprefix(f"{ROOT}/").partition("\n")[0] for word in command)


if __name__ == "__main__":
    sys.exit(main())

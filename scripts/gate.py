"""The gate: what must hold before a change goes in. `make test` runs it.

All steps run, whatever the earlier ones found, and one line at the end says how it went.
"""

# ruff: noqa: S603, T201 - it runs tools, and talks to the person who called it

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent


class Step(NamedTuple):
    """One tool: what it looks at, and the module and arguments that look."""

    name: str
    arguments: tuple[str, ...]


STEPS: Final = (
    Step("style", ("ruff", "check", "--quiet")),
    Step("format", ("ruff", "format", "--check", "--quiet")),
    Step("types", ("mypy", "--no-error-summary", "src", "tests", "scripts")),
    Step("tests", ("pytest", "-q", "-n", "2", "--dist", "loadgroup")),
)


def main() -> int:
    """Run all steps and return the exit status."""
    failed: list[str] = []
    for step in STEPS:
        started = time.monotonic()
        print(f"gate: {step.name} ...", flush=True)
        done = subprocess.run([sys.executable, "-m", *step.arguments], check=False, cwd=ROOT)
        seconds = time.monotonic() - started
        print(f"gate: {step.name} {verdict(done.returncode)} ({seconds:.0f} s)", flush=True)
        if done.returncode != 0:
            failed.append(step.name)
    if failed:
        print(f"\ngate: FAILED: {', '.join(failed)}")
        return 1
    print(f"\ngate: passed ({', '.join(step.name for step in STEPS)})")
    return 0


def verdict(status: int) -> str:
    """The result of a step in a word."""
    return "passed" if status == 0 else f"FAILED with status {status}"


if __name__ == "__main__":
    sys.exit(main())

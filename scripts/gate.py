"""The gate: what must hold before a change goes in. `make test` runs it.

All steps run, whatever the earlier ones found; the last lines say how long each took, the slowest
tests before them, and how it went.
"""

# ruff: noqa: S603, T201 - it runs tools, and talks to the person who called it

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent

SUITES: Final = ("tests", "tests_lab")

_KEEPS_NOTHING: Final = "PYTHONDONTWRITEBYTECODE"


class Step(NamedTuple):
    """One tool: what it looks at, and the module and arguments that look.

    One that runs `beside` others begins at once, and says what it found when these have ended, or
    before the one that `awaits` it. Such a one is given `--begin-after N`: the number of a pipe
    that is closed when what it awaits has ended, and until then it prepares.
    """

    name: str
    arguments: tuple[str, ...]
    beside: bool = False
    awaits: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """The status of a step, the seconds that it took, and its output if that was kept back."""

    status: int
    seconds: float
    said: str


WORKERS: Final = ("--workers", "3")

SLOWEST: Final = ("--durations=20", "--durations-min=2")
"""The options that list slow tests: whoever brings one into the gate sees it."""


STEPS: Final = (
    Step("style", ("ruff", "check", "--quiet")),
    Step("format", ("ruff", "format", "--check", "--quiet")),
    Step("types", ("scripts.check_types", "src", *SUITES, "scripts"), beside=True),
    # Once, and not by all who need them. In a fresh clone it takes as long as the types do, a
    # minute, and tests are collected meanwhile.
    Step("kernels", ("scripts.kernels",), beside=True),
    # One worker begins with what runs on Spark, one with what starts brokers, both one after the
    # other. These wait for other processes at times; the third keeps two processors busy then. The
    # lab's come with the product's: a run of their own would collect anew, and start Spark again.
    Step("tests", ("pytest", "-q", *WORKERS, *SLOWEST, *SUITES), awaits=("kernels",)),
)


def main() -> int:
    """Run all steps and return the exit status."""
    outcomes: dict[str, Outcome] = {}
    started = time.monotonic()
    with ThreadPoolExecutor() as pool:
        beside = {step.name: pool.submit(run, step) for step in STEPS if step.beside}
        for step in STEPS:
            if not step.beside:
                awaited, begin = os.pipe()
                running = pool.submit(run, step, awaited)
                for name in step.awaits:
                    outcomes[name] = told(name, beside.pop(name).result())
                print(f"gate: {step.name} ...", flush=True)
                os.close(begin)
                outcomes[step.name] = told(step.name, running.result())
                os.close(awaited)
        for name, others in beside.items():
            outcomes[name] = told(name, others.result())
    whole = time.monotonic() - started
    print(f"\ngate: {whole:.0f} s: {', '.join(spent(step, outcomes[step.name]) for step in STEPS)}")
    failed = [step.name for step in STEPS if outcomes[step.name].status != 0]
    if failed:
        print(f"gate: FAILED: {', '.join(failed)}")
        return 1
    print(f"gate: passed ({', '.join(step.name for step in STEPS)})")
    return 0


def spent(step: Step, outcome: Outcome) -> str:
    """The duration of a step, for the sum at the end."""
    return f"{step.name} {outcome.seconds:.0f} s{' beside others' if step.beside else ''}"


def run(step: Step, awaited: int | None = None) -> Outcome:
    """Run one step; of one that runs beside others, what it says is kept back.

    `awaited` is the pipe after whose end a step begins that awaits others.
    """
    started = time.monotonic()
    pipes = (awaited,) if awaited is not None and step.awaits else ()
    after = ("--begin-after", *map(str, pipes)) if pipes else ()
    done = subprocess.run(
        [sys.executable, "-m", *step.arguments, *after],
        check=False,
        pass_fds=pipes,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE if step.beside else None,
        stderr=subprocess.STDOUT if step.beside else None,
        text=True,
    )
    return Outcome(done.returncode, time.monotonic() - started, done.stdout or "")


def environment() -> dict[str, str]:
    """The caller's environment, but Python keeps what it compiles: all processes need the same."""
    return {name: value for name, value in os.environ.items() if name != _KEEPS_NOTHING}


def told(name: str, outcome: Outcome) -> Outcome:
    """Print how a step ended."""
    print(outcome.said, end="")
    print(f"gate: {name} {verdict(outcome.status)} ({outcome.seconds:.0f} s)", flush=True)
    return outcome


def verdict(status: int) -> str:
    """The result of a step in a word."""
    return "passed" if status == 0 else f"FAILED with status {status}"


if __name__ == "__main__":
    sys.exit(main())

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
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent

SUITES: Final = ("tests", "tests_lab")

_KEEPS_NOTHING: Final = "PYTHONDONTWRITEBYTECODE"


class Step(NamedTuple):
    """One tool: its name here, and the module and arguments that are run.

    One that runs `beside` others begins at once, or as soon as the steps that it `awaits` have
    ended, and its output follows when those in front have ended, or before the step that awaits it.
    One that `yields` leaves the processors to the others.
    """

    name: str
    arguments: tuple[str, ...]
    beside: bool = False
    awaits: tuple[str, ...] = ()
    yields: bool = False


class Outcome(NamedTuple):
    """The status of a step, the seconds that it took, and its output if that was kept back."""

    status: int
    seconds: float
    said: str


class Part(NamedTuple):
    """Some of the tests, run by a process of its own: all below `paths` that is not `left_out`."""

    paths: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    def arguments(self, name: str) -> tuple[str, ...]:
        """The arguments of pytest; each part has a folder for what pytest keeps between runs."""
        ignored = (f"--ignore={path}" for path in self.left_out)
        return ("-o", f"cache_dir=.pytest_cache/{name}", *self.paths, *ignored)


NICE: Final = ("nice", "-n", "10")
"""The command before a part that steps back: what runs on Spark comes one after the other, and
takes nearly as long as the whole if it has half a processor."""

SLOWEST: Final = ("--durations=20", "--durations-min=2")
"""The options that list slow tests: whoever brings one into the gate sees it."""

SPARK: Final = Part(
    ("tests/pipeline", "tests/cli/pipelines", "tests/cli/test_demo.py", "tests_lab"),
    ("tests_lab/chaos",),
)
"""What runs on Spark, which is started once, and the lab, some of which does."""

BROKERS: Final = Part(
    (
        *("tests/broker", "tests/cli", "tests/client", "tests/kafka", "tests/parity"),
        *("tests/session", "tests/store", "tests/testing", "tests/wire", "tests_lab/chaos"),
    ),
    ("tests/cli/pipelines", "tests/cli/test_demo.py"),
)
"""What starts brokers and waits for them."""

SIMULATION: Final = Part(("tests/simulation",))

OTHERS: Final = Part(
    ("tests",),
    tuple(
        path
        for part in (SPARK, BROKERS, SIMULATION)
        for path in part.paths
        if path.startswith("tests/")
    ),
)

PARTS: Final = {"spark": SPARK, "brokers": BROKERS, "simulation": SIMULATION, "others": OTHERS}
"""The tests, every one in one part. Those of Spark and of brokers wait for other processes at
times, and go before the rest, which keeps two processors busy then."""


def _tests(name: str, *, beside: bool = True, yields: bool = False) -> Step:
    """The step of a part of the tests."""
    arguments = ("pytest", "-q", *SLOWEST, *PARTS[name].arguments(name))
    return Step(name, arguments, beside=beside, awaits=("kernels",), yields=yields)


STEPS: Final = (
    Step("style", ("ruff", "check", "--quiet")),
    Step("format", ("ruff", "format", "--check", "--quiet")),
    Step("types", ("scripts.check_types", "src", *SUITES, "scripts"), beside=True),
    # Once, and not by all who need them. Where all are to be compiled, both this and the types take
    # a minute, each on a processor of its own.
    Step("kernels", ("scripts.kernels",), beside=True),
    _tests("spark"),
    _tests("brokers"),
    _tests("simulation", yields=True),
    _tests("others", beside=False, yields=True),
)


def main() -> int:
    """Run all steps and return the exit status."""
    outcomes: dict[str, Outcome] = {}
    started = time.monotonic()
    with ThreadPoolExecutor(len(STEPS)) as pool:
        beside: dict[str, Future[Outcome]] = {}
        for step in STEPS:
            if step.beside:
                awaited = [beside[name] for name in step.awaits]
                beside[step.name] = pool.submit(run_after, awaited, step)
        for step in STEPS:
            if not step.beside:
                for name in step.awaits:
                    outcomes[name] = reported(name, beside.pop(name).result())
                print(f"gate: {step.name} ...", flush=True)
                outcomes[step.name] = reported(step.name, run(step))
        for name, running in beside.items():
            outcomes[name] = reported(name, running.result())
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


def run_after(awaited: Iterable[Future[Outcome]], step: Step) -> Outcome:
    """Run one step when others have ended."""
    wait(awaited)
    return run(step)


def run(step: Step) -> Outcome:
    """Run one step; the output of one that runs beside others is kept back."""
    started = time.monotonic()
    done = subprocess.run(
        [*(NICE if step.yields else ()), sys.executable, "-m", *step.arguments],
        check=False,
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


def reported(name: str, outcome: Outcome) -> Outcome:
    """Print how a step ended."""
    print(outcome.said, end="")
    print(f"gate: {name} {verdict(outcome.status)} ({outcome.seconds:.0f} s)", flush=True)
    return outcome


def verdict(status: int) -> str:
    """The result of a step in a word."""
    return "passed" if status == 0 else f"FAILED with status {status}"


if __name__ == "__main__":
    sys.exit(main())

"""Draws inputs for a target, judges them, and keeps what breaks the law."""

from __future__ import annotations

import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any, Final, TypeAlias

from sapwood.errors import InputError, PeerError

BLOCK: Final = 500
"""Inputs that are drawn from one generator: to repeat one its block is drawn again."""

HANG_S: Final = 10.0
"""Seconds of processor time after which reading one input counts as a hang."""

FINDINGS_MAX: Final = 20
"""Findings of one target after which it is given up: they are mostly the same."""

Drawn: TypeAlias = Any
Outcome: TypeAlias = tuple[str, Any]
"""The outcome of an input: the name of an error and its text, or `value` and the value."""


class HungError(BaseException):
    """Reading has taken too long. No `Exception`, so that no reader takes it for one of its own."""


@dataclass(frozen=True, slots=True)
class Target:
    """One place where input of others is read.

    `read` gives something that can be compared, or raises one of the `documented` errors. It gets
    its `share` of all inputs, less where reading takes long; `close` gives back what reading holds.
    """

    name: str
    share: int
    draw: Callable[[Random], Drawn]
    read: Callable[[Drawn], Any]
    documented: tuple[type[BaseException], ...] = (InputError, PeerError)
    close: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that broke the law: where it can be drawn again, itself, and what happened."""

    target: str
    seed: int
    number: int
    drawn: str
    what: str


@dataclass(slots=True)
class Report:
    """The report on the inputs of one target."""

    target: str
    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)

    def add(self, other: Report) -> None:
        """Take in another run of the same target."""
        self.inputs += other.inputs
        self.refused += other.refused
        self.seconds += other.seconds
        self.findings += other.findings


def drawn(target: Target, seed: int, count: int) -> Iterator[Drawn]:
    """The first inputs of a target under a seed: always the same ones."""
    for first in range(0, count, BLOCK):
        random = Random(f"{target.name} {seed} {first}")  # noqa: S311 - not for secrets
        for _ in range(first, min(first + BLOCK, count)):
            yield target.draw(random)


def run(target: Target, seed: int, count: int) -> Report:
    """Judge `count` inputs of a target."""
    report = Report(target.name)
    began = time.process_time()
    with _hangs_end():
        for number, given in enumerate(drawn(target, seed, count)):
            outcome, wrong = judged(target, given)
            report.inputs += 1
            report.refused += outcome[0] != "value"
            if wrong:
                report.findings.append(Finding(target.name, seed, number, repr(given), wrong))
                if len(report.findings) >= FINDINGS_MAX:
                    break
    report.seconds = time.process_time() - began
    return report


def judged(target: Target, given: Drawn) -> tuple[Outcome, str]:
    """The outcome of an input, and how it breaks the law: an empty text if it does not.

    It is read twice: what one input leaves behind must not change the next answer.
    """
    first, wrong = _outcome(target, given)
    if wrong:
        return first, wrong
    second, wrong = _outcome(target, given)
    if not wrong and first != second:
        wrong = f"read twice: {first!r:.500}, then {second!r:.500}"
    return first, wrong


def _outcome(target: Target, given: Drawn) -> tuple[Outcome, str]:
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_S)
    try:
        return ("value", target.read(given)), ""
    except target.documented as error:
        return (type(error).__name__, str(error)), ""
    except (Exception, HungError) as error:  # noqa: BLE001 - whatever it is, it is a finding
        return (type(error).__name__, ""), traceback.format_exc(limit=-6)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


@contextmanager
def _hangs_end() -> Iterator[None]:
    """Within, a timer of processor time that runs out is a `HungError`."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise HungError(f"not read within {HANG_S:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGVTALRM, before)

"""A process that is killed between any two statements of the commit path loses nothing it said."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final

import pytest

from sapwood.routing.inputs import AttachClient
from sapwood.store.durability import Durability
from sapwood.store.writer import Policy, Retention
from tests.store.test_store import MEMORY, batch, ids, opened, restored

POLICY: Final = Policy(Durability(), Retention(bytes_max=500), segment_bytes_max=250)
COMMITS: Final = 5
WATCHED: Final = ("store/writer.py", "store/log.py", "store/state.py", "store/disk.py")
STRIDE: Final = 29
"""Every so many statements one is killed at; `make long` takes all of them."""


class Killer:
    """Kills this process before its `at`-th statement in the files that commit."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self.line if frame.f_code.co_filename.endswith(WATCHED) else None

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.left -= 1
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.line


def live(folder: Path, at: int, said: int) -> None:
    """Commit, and say so on `said` after each; die somewhere."""
    killer = Killer(at)
    with opened(folder, policy=POLICY) as store:
        begin = store.next_place
        sys.settrace(killer)
        for number in range(COMMITS):
            store.add(AttachClient(f"c{begin + number}"))
            store.add(batch(store.next_place, 2))
            if number == 3:
                store.release(4)
            gathered = store.take()
            store.writer.commit(gathered)
            store.committed(gathered)
            os.write(said, b".")
            store.writer.rest()
        store.close()
        sys.settrace(None)


def killed(folder: Path, at: int) -> tuple[int, bool]:
    """Let a process live and die; how many commits it has said are done, and whether it died."""
    heard, said = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(heard)
            live(folder, at, said)
            status = 0
        finally:
            os._exit(status)
    os.close(said)
    done = len(os.read(heard, 1000))
    while more := os.read(heard, 1000):
        done += len(more)
    os.close(heard)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return done, os.WIFSIGNALED(status)


def check(folder: Path, done: int) -> None:
    with opened(folder, policy=POLICY) as store:
        placed = store.next_place
        assert placed in (2 * done, 2 * done + 2)
        first = store.bounds[0]
        assert ids(store, first) == [f"p{at}" for at in range(first, placed)]
        records, released = restored(store), store.restored()[1]
        wanted: list[Any] = []
        for number in range(placed // 2):
            wanted.append(AttachClient(f"c{number}"))
            if 2 * number >= released:
                wanted.append(("c", f"p{2 * number}", f"p{2 * number + 1}"))
        assert records == wanted
        torn = [finding for finding in store.findings if "no whole commit" not in finding]
        assert torn == []


def killed_at(at: int) -> bool:
    with TemporaryDirectory(dir=MEMORY) as folder:
        done, died = killed(Path(folder), at)
        check(Path(folder), done)
        again, _ = killed(Path(folder), 10**9)
        assert again == COMMITS
        with opened(Path(folder), policy=POLICY) as store:
            assert store.next_place in (2 * (done + again), 2 * (done + again) + 2)
        return died


def test_nothing_that_was_said_is_lost_wherever_the_process_is_killed() -> None:
    at = 1
    while killed_at(at):
        at += STRIDE
    assert at > 10 * STRIDE, "there are more statements than that on the way"


@pytest.mark.long
def test_nothing_is_lost_at_any_statement() -> None:
    at = 1
    while killed_at(at):
        at += 1

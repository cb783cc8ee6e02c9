"""Work beside an event loop: it is done, told of, and ended."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from queue import Queue

from sapwood.broker.side_work import SideWork
from sapwood.limits import SWITCH_S
from tests.patience import PATIENCE_S


class Calls:
    """The calls that are to be made in the loop, one after the other."""

    def __init__(self) -> None:
        self._calls: Queue[Callable[[], None]] = Queue()
        self.side = SideWork(self._calls.put)

    def next(self) -> None:
        self._calls.get(timeout=PATIENCE_S)()


def test_work_is_done_in_another_thread_and_told_of_in_the_loop() -> None:
    calls, threads, told = Calls(), [], []
    usual = sys.getswitchinterval()
    calls.side.begin(
        lambda: threads.append(threading.get_ident()), lambda: told.append(threading.get_ident())
    )
    assert sys.getswitchinterval() <= SWITCH_S
    calls.next()
    assert told == [threading.get_ident()]
    assert threads != told
    assert sys.getswitchinterval() == usual
    calls.side.close()


def test_pieces_are_done_one_after_the_other() -> None:
    calls, done, begun = Calls(), [], threading.Event()
    calls.side.begin(lambda: assert_(begun.wait(PATIENCE_S)), lambda: done.append(1))
    calls.side.begin(lambda: None, lambda: done.append(2))
    begun.set()
    calls.next()
    calls.next()
    assert done == [1, 2]
    calls.side.close()


def test_what_has_not_begun_when_the_broker_ends_is_never_told_of() -> None:
    calls, done = Calls(), []
    begun, go_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert_(go_on.wait(PATIENCE_S))

    usual = sys.getswitchinterval()
    calls.side.begin(first, lambda: done.append(1))
    calls.side.begin(lambda: done.append(2), lambda: done.append(3))
    assert_(begun.wait(PATIENCE_S))
    closing = threading.Thread(target=calls.side.close)
    closing.start()
    calls.next()  # the second is cancelled, whoever waits for it
    go_on.set()
    closing.join(PATIENCE_S)
    calls.next()
    assert done == [1]
    assert sys.getswitchinterval() == usual


def test_closing_what_never_worked_does_nothing() -> None:
    Calls().side.close()


def assert_(condition: bool) -> None:
    assert condition

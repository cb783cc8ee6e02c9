"""Work beside the loop is done in order, and what fails is told."""

from __future__ import annotations

from threading import Event, get_ident

from sapwood.broker.side_thread import SideThread
from sapwood.matching import beside


def test_work_is_done_in_order_in_one_other_thread() -> None:
    errors: list[Exception] = []
    side, done, threads = SideThread(errors.append), Event(), list[int]()
    assert beside.worker() is None
    with beside.working(side):
        worker = beside.worker()
        assert worker is side
        for _ in range(3):
            worker.submit(lambda: threads.append(get_ident()))
        worker.submit(done.set)
    assert done.wait(60)
    assert len(threads) == 3
    assert len({*threads, get_ident()}) == 2
    side.close()
    assert errors == []


def test_an_error_is_told_and_the_next_work_is_done() -> None:
    errors: list[Exception] = []
    side, done = SideThread(errors.append), Event()

    def fail() -> None:
        raise MemoryError("too large")

    side.submit(fail)
    side.submit(done.set)
    assert done.wait(60)
    side.close()
    assert [str(error) for error in errors] == ["too large"]


def test_closing_leaves_what_was_not_begun() -> None:
    begun, may_end, late = Event(), Event(), Event()
    side = SideThread(lambda _: None)

    def wait() -> None:
        begun.set()
        may_end.wait(60)

    side.submit(wait)
    assert begun.wait(60)
    side.submit(late.set)
    side.close()
    may_end.set()
    thread = side._thread
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()
    assert not late.is_set()

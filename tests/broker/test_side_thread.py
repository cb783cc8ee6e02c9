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


def test_what_is_for_later_is_done_after_all_that_waits() -> None:
    errors: list[Exception] = []
    side, done, order = SideThread(errors.append, moment_s=0.0), Event(), list[str]()
    begun, may_go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        may_go_on.wait(60)

    side.submit(wait)
    assert begun.wait(60)
    side.later(lambda: order.append("later"))
    side.later(done.set)
    side.submit(lambda: order.append("soon"))
    may_go_on.set()
    assert done.wait(60)
    side.close()
    assert order == ["soon", "later"]
    assert errors == []


def test_closing_leaves_what_is_for_later() -> None:
    side, late = SideThread(lambda _: None, moment_s=3600.0), Event()
    side.later(late.set)
    side.close()
    thread = side._thread
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()
    assert not late.is_set()


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

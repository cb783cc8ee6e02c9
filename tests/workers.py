"""Workers: processes that run the tests together, forked from one that has collected them.

Processes of their own would each import everything and collect twelve thousand tests, which takes
ten seconds of processor time, and half a minute where nothing is compiled yet. Here that is done
once, and what it made is shared until somebody writes to it.

Tests are handed out in units, which stay together and in order: a worker that comes to the last
test of its unit asks for the next one. So pytest knows which test follows, and ends what only the
former needed. What a test reports goes to the process that collected, which reports as if it had
run the test. A worker that dies fails the test that it was running; another is forked for the rest.
"""

from __future__ import annotations

import os
import pickle
import traceback
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NamedTuple, TypeAlias

import pytest

IS_WORKER: Final = pytest.StashKey[bool]()
"""True in the configuration of a worker."""

_FORKING: Final = get_context("fork")


class Tested(NamedTuple):
    """A test has ended: its number and its serialized reports."""

    number: int
    reports: list[dict[str, Any]]


class Asked(NamedTuple):
    """A worker asks for a unit; the answer is a list of numbers, empty if there are no more."""


class Warned(NamedTuple):
    """Python warned: the arguments of `pytest_warning_recorded`, with the warning as a text."""

    text: str
    category: type[Warning]
    file: str
    line: int
    when: Any
    nodeid: str
    location: tuple[str, int, str] | None


class Closed(NamedTuple):
    """A worker is about to end, with the traceback of what was wrong beside its tests, if any."""

    trouble: str


Message: TypeAlias = Tested | Asked | Warned | Closed


class Worker:
    """A forked process, as the one sees it that collected.

    `owed` are the tests that were handed out and have not ended: the first one runs.
    """

    def __init__(self, session: pytest.Session, number: int, others: Iterable[Connection]) -> None:
        ours, its = _FORKING.Pipe()
        self.connection: Final[Connection] = ours
        self.owed: Final = deque[int]()
        self.is_closed = False
        # Python 3.12 warns of threads beside a fork; numpy's, of which there are some, allow it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            arguments = (session, its, (ours, *others), number)
            self.process: Final = _FORKING.Process(target=_work, args=arguments)
            self.process.start()
        its.close()


class Pool:
    """Hands out the units and reports what comes back."""

    def __init__(self, session: pytest.Session, units: Iterable[Sequence[int]]) -> None:
        self._session: Final = session
        self._units: Final = deque(list(unit) for unit in units)
        self._workers: Final = dict[Connection, Worker]()
        self._forked = 0

    def run(self, count: int) -> None:
        """Run all units in `count` workers at once.

        Raises `pytest.Session.Failed` or `Interrupted` as the loop of pytest does, and
        `RuntimeError` for what was wrong in a worker beside its tests.
        """
        temporary: Any = self._session.config
        temporary._tmp_path_factory.getbasetemp()  # in which the workers have folders of their own
        for _ in range(min(count, len(self._units))):
            self._fork()
        try:
            while self._workers:
                for ready in wait(list(self._workers)):
                    assert isinstance(ready, Connection)
                    self._receive(self._workers[ready])
        finally:
            self._end()

    def _fork(self) -> None:
        worker = Worker(self._session, self._forked, self._workers)
        self._forked += 1
        self._workers[worker.connection] = worker

    def _receive(self, worker: Worker) -> None:
        try:
            message: Message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._ended(worker)
            return
        match message:
            case Asked():
                unit = self._units.popleft() if self._units else []
                worker.owed.extend(unit)
                worker.connection.send(unit)
            case Tested(number, reports):
                assert worker.owed.popleft() == number
                self._report(number, reports)
            case Warned():
                self._warn(message)
            case Closed(trouble):
                worker.is_closed = True
                if trouble:
                    raise RuntimeError(f"a worker beside its tests:\n{trouble}")

    def _ended(self, worker: Worker) -> None:
        """Take leave of a worker; where it died, let another do what it has not done."""
        del self._workers[worker.connection]
        worker.connection.close()
        worker.process.join()
        if worker.is_closed:
            return
        text = f"the worker ended with status {worker.process.exitcode}"
        if not worker.owed:
            raise RuntimeError(text)
        number = worker.owed.popleft()
        item = self._session.items[number]
        died = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", f"{text} while it ran this test", "call"
        )
        hook = self._session.config.hook
        self._report(number, [hook.pytest_report_to_serializable(config=item.config, report=died)])
        if worker.owed:
            self._units.appendleft(list(worker.owed))
        if self._units:
            self._fork()

    def _report(self, number: int, reports: list[dict[str, Any]]) -> None:
        item, session = self._session.items[number], self._session
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = hook.pytest_report_from_serializable(config=session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)

    def _warn(self, warned: Warned) -> None:
        shown = warned.category(warned.text)
        self._session.config.hook.pytest_warning_recorded.call_historic(
            kwargs={
                "warning_message": warnings.WarningMessage(
                    shown, warned.category, warned.file, warned.line
                ),
                "when": warned.when,
                "nodeid": warned.nodeid,
                "location": warned.location,
            }
        )

    def _end(self) -> None:
        """Have the workers that are left end after the tests that they run now."""
        for worker in self._workers.values():
            try:
                worker.connection.send([])  # nobody asked: see `_Reporter.is_stopped`
            except OSError:
                continue  # it has ended by itself
        for worker in self._workers.values():
            while True:
                try:
                    worker.connection.recv()
                except (EOFError, ConnectionResetError):
                    break
            worker.process.join()


class _Reporter:
    """Passes on, in a worker, what pytest reports there."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config: Final = config
        self._connection: Final = connection
        self._reports: list[dict[str, Any]] = []
        #: false while pytest tells of the warnings before the fork, which are known
        self.is_new = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a phase until the test has ended."""
        hook = self._config.hook
        self._reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        """Pass on a warning, of a general kind where its own cannot travel."""
        if not self.is_new:
            return
        shown = warning_message
        category = shown.category
        try:
            pickle.dumps(category)
            category(str(shown.message))
        except Exception:  # noqa: BLE001 - whatever its constructor asks for
            category = pytest.PytestWarning
        text, file, line = str(shown.message), shown.filename, shown.lineno
        self._connection.send(Warned(text, category, file, line, when, nodeid, location))

    def ask(self) -> list[int]:
        """The numbers of the tests to run next; none if there are no more."""
        self._connection.send(Asked())
        unit: list[int] = self._connection.recv()
        return unit

    def is_stopped(self) -> bool:
        """True if no more tests are to be run: something came for which nobody asked."""
        return self._connection.poll()

    def tested(self, number: int) -> None:
        """Pass on the reports of a test that has ended."""
        self._connection.send(Tested(number, self._reports))
        self._reports = []


def _work(
    session: pytest.Session, own: Connection, others: Sequence[Connection], number: int
) -> None:
    """Be a worker: run tests until there are no more.

    The ends of the process that collected, which are here as well, are closed: if it is killed,
    all its workers end.
    """
    for connection in others:
        connection.close()
    config: Any = session.config
    config.stash[IS_WORKER] = True
    config.pluginmanager.unregister(name="terminalreporter")
    reporter = _Reporter(config, own)
    config.pluginmanager.register(reporter)
    reporter.is_new = True
    capturing = config.pluginmanager.getplugin("capturemanager")
    capturing.stop_global_capturing()  # into files that were shared with all
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    temporary = config._tmp_path_factory
    temporary._basetemp = temporary.getbasetemp() / f"worker-{number}"
    temporary._basetemp.mkdir(mode=0o700)
    trouble = ""
    try:
        _run_all(session, reporter)
    except BaseException:  # noqa: BLE001 - reported where it can be seen
        trouble = traceback.format_exc()
    try:
        session._setupstate.teardown_exact(None)
        config.pluginmanager.unregister(reporter)
        config._ensure_unconfigure()
    except BaseException:  # noqa: BLE001 - reported where it can be seen
        trouble += traceback.format_exc()
    own.send(Closed(trouble))
    own.close()
    os._exit(0)


def _run_all(session: pytest.Session, reporter: _Reporter) -> None:
    waiting = deque(reporter.ask())
    while waiting and not reporter.is_stopped():
        number = waiting.popleft()
        if not waiting:
            waiting.extend(reporter.ask())
        item = session.items[number]
        following = session.items[waiting[0]] if waiting else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        reporter.tested(number)

"""A process beside the broker's that computes the normal forms of hostile filters.

A normal form may take a second of Python. In a thread of the broker that would hold the interpreter
every other moment, and its memory would stay with the broker; a process of its own disturbs
neither. It is started when it is first needed, has low priority, and ends after
`limits.FILTER_PROCESS_IDLE_S` without work.

Questions and answers (`session.judging.answer`) are bytes behind their length, four bytes each::

   00 00 00 05  a > 1     ->     00 00 00 22  93 c4 1e ..
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
from threading import Lock
from typing import IO, Final

from sapwood.broker.logs import Log
from sapwood.limits import FILTER_PROCESS_IDLE_S
from sapwood.session.judging import answer

_LENGTH: Final = struct.Struct(">I")
_NICE: Final = 5
_COMMAND: Final = (sys.executable, "-m", "sapwood.broker.filter_process")


class FilterProcess:
    """The process, as used by the thread that waits for answers.

    #: one question at a time; none once it is closed
    """

    def __init__(self, log: Log, command: tuple[str, ...] = _COMMAND) -> None:
        self._log = log
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._closed = False

    def ask(self, question: bytes) -> bytes | None:
        """Send a question, and wait; `None` where the process cannot be started, or has failed."""
        with self._lock:
            for _ in range(2):  # it may have ended since the last question
                if self._closed:
                    return None
                try:
                    found = self._exchange(question)
                except OSError as error:
                    self._log.warning("filters are worked out here", reason=str(error))
                    return None
                if found is not None:
                    return found
            self._log.warning("filters are worked out here", reason="the process beside has failed")
            return None

    def close(self) -> None:
        """End the process; a question under way gets no answer."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
            process.wait()

    def _exchange(self, question: bytes) -> bytes | None:
        """Send the question to the present process, or a new one; `None` if that has ended."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(  # noqa: S603 - our own module
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _write(process.stdin, question)
            found = _read(process.stdout)
        except BrokenPipeError:
            found = None
        if found is None:
            process.kill()
            process.wait()
        return found


def _write(stream: IO[bytes], body: bytes) -> None:
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """The body that the other end has written; `None` at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    body = stream.read(size)
    return body if len(body) == size else None


def main() -> None:
    """Answer questions until there are none for a while, or the broker has ended."""
    os.nice(_NICE)
    questions = sys.stdin.buffer  # empty before each question: they come one at a time
    while select.select([questions], [], [], FILTER_PROCESS_IDLE_S)[0]:
        question = _read(questions)
        if question is None:
            return
        _write(sys.stdout.buffer, answer(question))


if __name__ == "__main__":
    main()

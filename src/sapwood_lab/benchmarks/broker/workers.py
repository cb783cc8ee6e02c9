"""The processes that publish and receive, seen from the one that gives them orders."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from sapwood.errors import EnvironmentMissingError

END_S: Final = 5.0
"""Seconds that a worker may take to end when its standard input has."""


class WorkerError(EnvironmentMissingError):
    """A worker could not carry out an order, in its own words, or not in time."""


class Worker:
    """One process that obeys orders, a line each, and answers each with a line of JSON."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - closed in `close`
        self._held = b""
        self.process = subprocess.Popen(  # noqa: S603 - our own drivers
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **environment},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def order(self, *words: object) -> None:
        """Give an order; its answer is read by `answer`."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(self._last_words("has ended")) from None

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """The answer to the oldest order that has none yet.

        Raises `WorkerError` where it is an error, or does not come.
        """
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._held:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self.process.stdout], (), (), left)[0]:
                raise WorkerError(f"the {self.name} did not answer within {timeout_s:g} s")
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise WorkerError(self._last_words("has ended"))
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        said: dict[str, Any] = msgspec.json.decode(line)
        if "error" in said:
            raise WorkerError(f"the {self.name} says: {said['error']}")
        return said

    def ask(self, *words: object, timeout_s: float) -> dict[str, Any]:
        """Give an order and wait for its answer."""
        self.order(*words)
        return self.answer(timeout_s)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self._log.close()

    def _last_words(self, what: str) -> str:
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines() or ["nothing"]
        return f"the {self.name} {what}: {said[-1]}"

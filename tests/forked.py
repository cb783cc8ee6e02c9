"""Broker processes that are forked from one which has imported everything, and loaded kernels.

A broker's interpreter spends half a second of processor time on imports before it listens, and as
much on kernels as soon as somebody subscribes, and the comparison of simulator and processes starts
about seventy. Forked ones are processes of their own all the same: with their own sockets, loops
and exit statuses, and killed like others. That the command itself starts is for
the first test of `tests/testing/test_overlay.py`, and for those of `tests/broker` and `tests/cli`
that start it themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.reduction import DupFd
from types import MappingProxyType
from typing import IO, Any, Self

import pytest

from sapwood.testing import overlay

_SERVER = get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.kernels_at_hand"])


class Forked:
    """As much of `subprocess.Popen` as a broker process has use for."""

    def __init__(
        self,
        arguments: Sequence[str],
        log: IO[bytes],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        reading, writing = os.pipe()
        self._begin(arguments, writing, log.fileno(), environment)
        os.close(writing)
        self.stdout: IO[Any] = os.fdopen(reading, "rb")

    def _begin(
        self,
        arguments: Sequence[str],
        out: int,
        log: int,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        changed = {**os.environ, **environment}
        self._process = _SERVER.Process(
            target=_run, args=(tuple(arguments), changed, DupFd(out), DupFd(log))
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit status if the process has ended, negative for a signal."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The same, once it has ended; raises `subprocess.TimeoutExpired`."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("sapwood broker", timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


class ForkedCommand(Forked):
    """As much of it as a client's command has use for, whose text and errors are read."""

    def __init__(self, arguments: Sequence[str]) -> None:
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        self._begin(arguments, to_out, to_err)
        os.close(to_out)
        os.close(to_err)
        self.stdout = os.fdopen(out, encoding="utf-8")
        self.stderr: IO[str] = os.fdopen(err, encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.wait()
        self.stdout.close()
        self.stderr.close()

    @property
    def returncode(self) -> int | None:
        """The exit status, once it has ended."""
        return self.poll()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that is still to be read, when it has ended; raises `subprocess.TimeoutExpired`.

        It is less than a pipe holds.
        """
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()


def _run(arguments: tuple[str, ...], environment: dict[str, str], out: Any, log: Any) -> None:
    """Be `sapwood` with these arguments, in the forked process."""
    from sapwood.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), *map(_own, (out, log)))):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
    main(list(arguments), prog_name="sapwood")


def _own(descriptor: Any) -> int:
    found: int = descriptor.detach()
    return found


@contextmanager
def forking() -> Iterator[None]:
    """Let brokers in processes of their own be forked that are started meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlay, "started", Forked)
        yield


@pytest.fixture
def forked_brokers() -> Iterator[None]:
    """The same for the length of a test."""
    with forking():
        yield

"""Compiled kernels for a broker: loaded beside its event loop, which goes on with plain Python.

Cached kernels are loaded at the first subscription, so that they are at hand, as a rule, before
there is much to match; others are compiled when plain Python has worked long enough without.
Loading cached kernels takes some tenths of a second in a thread, and holds the interpreter lock for
less than 50 ms at a time (measured). Compiling takes some seconds and holds it for up to a third of
a second again and again, so a process of its own does that, and caches the result
(`matching.compiling.places`). Where there is no place for a cache the broker stays with plain
Python and logs that: every start would compile anew.

A client that has subscribed in bulk, and goes on, waits while cached kernels are loaded: plain
Python takes three times as long for each subscription, has it moved later, and slows the loading
itself down. No other client waits.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock, Thread
from typing import Final

from sapwood.broker.logs import Log
from sapwood.matching.compiling.places import VARIABLES, given_place, is_kept, writable_place
from sapwood.matching.engine_names import Engines
from sapwood.matching.readiness import DOCUMENTS, RECORDS, KernelSet
from sapwood.wire.runs import FRAMES

WANTED_AFTER: Final = 100_000
"""Work for plain Python, in about microseconds, after which a broker loads compiled kernels: they
cost the loop next to nothing, but a hundred megabytes."""

NICE: Final = 5
"""The niceness of the process that compiles."""

LOADING_SWITCH_S: Final = 0.0001
"""Seconds after which the loop yields to a thread that loads kernels."""

_REASON_CHARS: Final = 500

_FOLDER: Final = "kernels"
"""The name of the cache in the folder of a broker's data."""


class KernelLoader:
    """Loads each requested set of kernels once; a `readiness.Loader` for the loop's thread.

    `command` begins the command that compiles; the name of a set is its last argument.
    """

    def __init__(
        self,
        log: Log,
        wanted_after: int = WANTED_AFTER,
        command: tuple[str, ...] = (sys.executable, "-m", "sapwood", "warm-up"),
    ) -> None:
        self._log = log
        self._wanted_after = wanted_after
        self._command = command
        #: name of a set -> the work of plain Python in its place
        self._worked: dict[str, int] = {}
        #: name of a requested set -> the thread that loads it, or has
        self._threads: dict[str, Thread] = {}
        #: one thread at a time loads; the process that compiles for it; the loader is closing
        self._turn = Lock()
        #: names of cached sets that are being loaded; the callbacks that wait for them, each with
        #: its loop
        self._soon: set[str] = set()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = []
        self._telling = Lock()
        self._compiling: subprocess.Popen[str] | None = None
        self._closing = False

    def expected(self, kernels: KernelSet) -> None:
        """Begin to load these kernels, and those of publications, as far as they are cached."""
        for each in (kernels, RECORDS, FRAMES):
            if each.compiled is None and is_kept(each.name):
                self._begin(each, may_compile=False)

    def worked(self, kernels: KernelSet, work: int) -> None:
        """Begin to load the kernels if it is worth it by now; returns at once."""
        done = self._worked[kernels.name] = self._worked.get(kernels.name, 0) + work
        if done >= self._wanted_after:
            self._begin(kernels, may_compile=True)

    def _begin(self, kernels: KernelSet, *, may_compile: bool) -> None:
        """Start a thread that loads the kernels, unless one does or has."""
        if kernels.name in self._threads or self._closing:
            return
        if not may_compile:
            self._soon.add(kernels.name)
        thread = self._threads[kernels.name] = Thread(
            target=self._load,
            args=(kernels,),
            kwargs={"may_compile": may_compile},
            name=f"kernels for {kernels.name}",
            daemon=True,
        )
        thread.start()

    def then(self, done: Callable[[], None]) -> bool:
        """Call `done` in the loop when no cached set is being loaded any more; true if one is."""
        if not self._soon:
            return False
        with self._telling:
            self._waiting.append((asyncio.get_running_loop(), done))
        if not self._soon:  # they were loaded meanwhile
            self._tell_waiting()
        return True

    def _tell_waiting(self) -> None:
        """Call the waiting callbacks; from any thread."""
        with self._telling:
            waiting, self._waiting = self._waiting, []
        for loop, done in waiting:
            if not self._closing:
                loop.call_soon_threadsafe(done)

    async def prepare(self, needed: Iterable[KernelSet]) -> None:
        """Load the kernels that are needed from the first publication on; may take long."""
        for kernels in needed:
            if kernels.compiled is None:
                self._log.info("loading kernels before listening", kernels=kernels.name)
                await asyncio.to_thread(kernels.load)

    def have(self, needed: Iterable[KernelSet]) -> None:
        """Load cached kernels, and return when that is done: there is much for them to do.

        No client may be waiting. Uncached ones are loaded when plain Python has done enough.
        """
        for kernels in needed:
            self.expected(kernels)
            thread = self._threads.get(kernels.name)
            if thread is not None:
                thread.join()

    def close(self) -> None:
        """End the work under way; blocks for as long as loading from the cache takes."""
        self._closing = True
        compiling = self._compiling
        if compiling is not None:
            compiling.kill()
        for thread in tuple(self._threads.values()):
            thread.join()

    def _load(self, kernels: KernelSet, *, may_compile: bool) -> None:
        """Load kernels, in a thread."""
        with self._turn:
            begun = time.monotonic()
            # An import reads thousands of files, and waits after each until the loop yields: beside
            # a busy loop it would not end.
            before = sys.getswitchinterval()
            sys.setswitchinterval(min(before, LOADING_SWITCH_S))
            try:
                if not kernels.is_cached():
                    if not may_compile:  # the cached set is of another version
                        del self._threads[kernels.name]
                        return
                    self._log.info("compiling kernels", kernels=kernels.name)
                    reason = self._compile(kernels)
                    if reason is not None:
                        self._say_plain(kernels, reason)
                        return
                if not self._closing:
                    kernels.load()
            except Exception as error:  # noqa: BLE001 - whatever the error, plain Python goes on
                self._say_plain(kernels, repr(error))
                return
            finally:
                sys.setswitchinterval(before)
                self._soon.discard(kernels.name)
                if not self._soon:
                    self._tell_waiting()
        seconds = round(time.monotonic() - begun, 1)
        self._log.info("kernels loaded", kernels=kernels.name, seconds=seconds)

    def _compile(self, kernels: KernelSet) -> str | None:
        """Compile into the cache, in another process; return the reason for a failure, if any."""
        if self._closing:
            return "the broker is stopping"
        self._compiling = subprocess.Popen(  # noqa: S603 - our own command
            (*self._command, kernels.name),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        if self._closing:  # the loader was closed meanwhile
            self._compiling.kill()
        os.setpriority(os.PRIO_PROCESS, self._compiling.pid, NICE)
        _, errors = self._compiling.communicate()
        status = self._compiling.returncode
        return None if status == 0 else f"status {status}: {errors.strip()[-_REASON_CHARS:]}"

    def _say_plain(self, kernels: KernelSet, reason: str) -> None:
        if not self._closing:
            self._log.warning("matching stays plain", kernels=kernels.name, reason=reason)


def place_kernels(data: Path) -> None:
    """Cache compiled code in a broker's own folder, if no other known place can be written.

    A service account often has a folder for its data and nothing else. Processes that compile for
    the broker inherit the place.
    """
    if given_place() is None and writable_place() is None:
        os.environ[VARIABLES[0]] = str(data.absolute() / _FOLDER)


def kernels_of(engines: Engines) -> tuple[KernelSet, ...]:
    """The kernels without which these engines do not match at all."""
    needed = (
        ("columnar", engines.records, RECORDS),
        ("path-automaton", engines.documents, DOCUMENTS),
    )
    return tuple(kernels for name, engine, kernels in needed if engine == name)


def kernels_for_many(engines: Engines) -> tuple[KernelSet, ...]:
    """The kernels that these engines use for many filters, once they are at hand."""
    return (RECORDS,) if engines.records == "auto" else ()

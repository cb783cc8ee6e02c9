"""A process beside a broker that makes checkpoints, so that no publication waits for one.

It reads the last checkpoint and the state records since, becomes the router that these make up to
its mark (`sapwood.routing.compacting`), writes its state, with the engines that it would match
publications with where there are many filters (`sapwood.matching.prepared`), and prints the number
of state records before the new checkpoint; 0 where none can be made now. The broker takes the
checkpoint over when the process has ended (`Compaction`); a killed one has changed nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sapwood.errors import SapwoodError
from sapwood.limits.store import CHECKPOINT_ENGINES_MIN
from sapwood.matching.prepared import prepare
from sapwood.matching.storage import remove
from sapwood.routing.compacting import at_mark, checkpoint_of, filters_of, mark_in
from sapwood.routing.inputs import Checkpoint, Note
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.upkeep.recover.checkpoint import with_prepared
from sapwood.store.checkpoints import (
    CheckpointParts,
    engines_of,
    path_of,
    put_engines,
    write_checkpoint,
)
from sapwood.store.records import state_record
from sapwood.store.state import FILE, StateFile

_COMMAND: Final = (sys.executable, "-m", "sapwood.store.compacting")
_NICE: Final = 10


class Compaction:
    """The process, as the thread of a store that begins and awaits it sees it."""

    def __init__(self, folder: Path, command: tuple[str, ...] = _COMMAND) -> None:
        self._command = (*command, str(folder))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_under_way(self) -> bool:
        """True if a process has been begun and not been awaited."""
        return self._process is not None

    def begin(self) -> None:
        """Begin to make a checkpoint. Raises `OSError`."""
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )

    def made(self) -> int | None:
        """The number of state records before the new checkpoint; `None` until it is complete.

        0 where none was made.
        """
        process = self._process
        assert process is not None, "something is to be awaited"
        if process.poll() is None:
            return None
        self._process = None
        assert process.stdout is not None
        with process.stdout as output:
            told = output.read()
        return int(told) if process.returncode == 0 else 0

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def compact(
    folder: Path,
    is_wanted: Callable[[], bool] = lambda: True,
    engines_from: int = CHECKPOINT_ENGINES_MIN,
) -> int:
    """Make the checkpoint of the store in a folder, which a broker may hold.

    With at least `engines_from` filters, it has engines for them. Returns the number of state
    records before it; 0 where none was made, or `is_wanted` has become false: another broker may
    have the folder.
    """
    state = StateFile(folder / FILE, is_read=True)
    try:
        notes = [Note(name, value) for name, value in state.notes()]
        mark = mark_in(notes)
        covered = state.checkpoints[-1] if state.checkpoints else 0
        if mark is None or mark.states <= covered:
            return 0
        before = Checkpoint(CheckpointParts(path_of(folder, covered))) if covered else None
        records = (state_record(one.record) for one in state.records(covered, mark.states))
        name, protocol = str(state.meta("broker")), protocol_named(str(state.meta("protocol")))
        router = at_mark(name, protocol, notes, before, records)
    finally:
        state.close()
    made = checkpoint_of(router)
    if made is None:
        return 0
    filters = filters_of(router)
    del router  # engines take as much memory again while they are built
    parts, engines = made.parts, engines_of(folder, mark.states).with_suffix(f".{os.getpid()}.part")
    try:
        prepared = 0
        if sum(map(len, filters.values())) >= engines_from and is_wanted():
            prepared = prepare(engines, filters)
        if not is_wanted():
            return 0
        if prepared:
            put_engines(engines, folder, mark.states)
            parts = with_prepared(parts, prepared)
        write_checkpoint(folder, mark.states, parts)
    finally:
        remove(engines)
    return mark.states


def main() -> None:
    """Make a checkpoint, at low priority."""
    os.nice(_NICE)
    broker = os.getppid()
    try:
        made = compact(Path(sys.argv[1]), lambda: os.getppid() == broker)
        sys.stdout.write(str(made))
    except (SapwoodError, OSError) as error:
        sys.exit(f"no checkpoint was made: {error}")


if __name__ == "__main__":
    main()

"""A broker that dies between two statements of its store.

`python -m sapwood_lab.chaos.planted broker ...` is the command `sapwood`, with the doors of what is
kept replaced (`AREAS`), and smaller segments, so that some begin and go. A door that is *armed*
watches every statement of `WATCHED` files that is carried out behind it, and before the N-th of
them the process kills itself with SIGKILL, which no other thread outlives. Where it died it writes
to a file first. Nothing is watched until a door is armed, so a broker is as fast as any::

    SIGUSR2 ── order file: "append 17" ── the door `append` is armed
                                            17 statements later: SIGKILL

`SAPWOOD_PLANTED` is the order file; what lies there at the start arms a door from the beginning.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import sapwood
from sapwood.broker import storing
from sapwood.broker.committing import GroupCommit
from sapwood.broker.keeping import Keeper
from sapwood.broker.storing import Storing
from sapwood.cli.main import main
from sapwood.store.log import Syncer
from sapwood.store.store import Store
from sapwood.store.writer import Policy, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

ORDER: Final = "SAPWOOD_PLANTED"
"""The variable of the environment with the path of the order file."""

Trace: TypeAlias = "Callable[[FrameType, str, Any], Trace | None]"

AREAS: Final[Mapping[str, tuple[tuple[type, str], ...]]] = MappingProxyType(
    {
        "keep": ((Keeper, "admit"), (Keeper, "admit_many"), (Keeper, "persist")),
        "append": ((GroupCommit, "_begin"),),
        "sync": ((Syncer, "sync"), (GroupCommit, "_committed")),
        "rest": ((Writer, "rest"),),
        "open": ((Store, "__init__"), (Storing, "restore"), (Storing, "begin")),
    }
)
"""The doors of each area: adding to a commit, writing it, making it durable and reporting that,
what is done beside commits (the state file, checkpoints, segments that go), and starting again."""

SEGMENT_BYTES_MAX: Final = 1 << 20

_ROOT: Final = Path(sapwood.__file__).parent
WATCHED: Final = (
    *(f"{_ROOT / room}{os.sep}" for room in ("store", "session")),
    *(str(_ROOT / "broker" / f"{name}.py") for name in ("committing", "keeping", "storing")),
    *(str(_ROOT / "broker" / f"{name}.py") for name in ("durables", "outbox", "broker")),
)
"""The beginnings of the files whose statements count."""


class Bomb:
    """A trap that kills this process before the N-th statement of an area; `path`: its order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._area = ""
        self._left = 0

    def arm(self) -> None:
        """Read what is ordered: an area and a number of statements, or nothing."""
        try:
            area, _, statements = self._path.read_text().partition(" ")
        except FileNotFoundError:
            return
        self._path.unlink()
        self._left, self._area = int(statements), area

    def plant(self) -> None:
        """Put a watch on every door."""
        for area, doors in AREAS.items():
            for owner, name in doors:
                setattr(owner, name, self._watched(area, getattr(owner, name)))

    def _watched(self, area: str, door: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(door)
        def through(*given: Any, **named: Any) -> Any:
            if self._area != area:
                return door(*given, **named)
            before = sys.gettrace()
            sys.settrace(self._trace)
            try:
                return door(*given, **named)
            finally:
                sys.settrace(before)

        return through

    def _trace(self, frame: FrameType, event: str, _: Any) -> Trace | None:
        if not frame.f_code.co_filename.startswith(WATCHED):
            return None
        if event == "line":
            self._left -= 1
            if self._left < 0:
                self._die(frame)
        return self._trace

    def _die(self, frame: FrameType) -> None:
        """Write down where, and be gone."""
        where = f"{Path(frame.f_code.co_filename).relative_to(_ROOT)}:{frame.f_lineno}\n"
        with self._path.with_suffix(".died").open("a") as died:
            died.write(where)
        os.kill(os.getpid(), signal.SIGKILL)


def run() -> None:
    """The command, with the doors watched."""
    vars(storing)["Policy"] = partial(Policy, segment_bytes_max=SEGMENT_BYTES_MAX)
    bomb = Bomb(Path(os.environ[ORDER]))
    bomb.plant()
    bomb.arm()
    signal.signal(signal.SIGUSR2, lambda *_: bomb.arm())
    faulthandler.register(signal.SIGUSR1)
    main(prog_name="sapwood")


if __name__ == "__main__":
    run()

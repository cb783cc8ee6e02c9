"""What the C library and the garbage collector do with a broker's memory.

A broker's index makes arrays of megabytes whenever it joins segments. glibc keeps memory of up to
32 MB for the next one, between what is in use: after 200,000 subscriptions one by one that was 36
MB. Told to, it gives back what is a quarter of a megabyte or more at once, which costs a few
percent of the time that joins take. And each thread that reads publications beside the loop had
memory of its own, out of which the others take nothing: one heap for all has 20 MB less to keep
after thirty large publications.

A full collection looks at all that modules and compilers have left behind, which took 60 ms, and
finds nothing. Subscriptions are nothing that it looks at (`model.kept`).
"""

from __future__ import annotations

import ctypes
import gc
from typing import Final

_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""glibc's numbers of the settings."""

_BYTES: Final = 1 << 18


def give_memory_back() -> bool:
    """Let memory of large arrays go back to the system; whether this C library can be told."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_ARENA_MAX, 1)) and bool(mallopt(_MMAP_THRESHOLD, _BYTES))


def leave_alone_what_is_here() -> None:
    """Let the garbage collector look at what comes from now on, and no more at what is here."""
    gc.collect()
    gc.freeze()

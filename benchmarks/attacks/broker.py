"""A broker that tells how long its event loop was in one callback, in processor time.

`python broker.py` takes the options of `sapwood broker`, and `--cold` before them. Without it the
compiled kernels are loaded first, as in a broker that has been at work: what they take, a hundred
megabytes, is none of an attack's doing. At SIGUSR1 it writes `turn SECONDS` to
standard output, the longest callback since the last such line, and begins to count anew.
"""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any

from sapwood.cli.main import main
from sapwood.matching.readiness import DOCUMENTS, RECORDS
from sapwood.wire.runs import FRAMES


def watch() -> None:
    """Measure every callback of every event loop from here on."""
    longest = 0.0
    run = asyncio.Handle._run

    def measured(handle: Any) -> None:
        nonlocal longest
        before = time.thread_time()
        run(handle)
        longest = max(longest, time.thread_time() - before)

    def tell(*_: object) -> None:
        nonlocal longest
        print(f"turn {longest:.6f}", flush=True)
        longest = 0.0

    asyncio.Handle._run = measured  # type: ignore[method-assign] - there is no other place
    signal.signal(signal.SIGUSR1, tell)


if __name__ == "__main__":
    import sys

    options = sys.argv[1:]
    if options[:1] == ["--cold"]:
        options = options[1:]
    else:
        for kernels in (RECORDS, DOCUMENTS, FRAMES):
            kernels.load()
    watch()
    main(["broker", *options])

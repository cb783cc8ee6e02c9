"""A well-behaved pair: publications of 100 bytes, one at a time, from one client to another.

`python pair.py HOST PORT TOKEN tls|plain` prints `ready` once the pair is connected. From then on,
for each line on standard input, it prints `worst SECONDS COUNT`: the longest time from a
publication to its delivery since the line before, and how many publications there were. One that
has not come back counts with the time it has waited.
"""

from __future__ import annotations

import sys
import threading
import time

from peer import Peer, advertise, publish, subscribe

PAUSE_S = 0.002


def main(host: str, port: int, token: str, *, is_secret: bool) -> None:
    """Exchange until standard input ends."""
    receiver, sender = (
        Peer(host, port, name, token=token, is_secret=is_secret)
        for name in (
            ("pair/receiver", "pair/sender") if token else ("pair-receiver", "pair-sender")
        )
    )
    receiver.send(subscribe("pair", "pair >= 0 and note = 'well behaved'"))
    receiver.answer()
    sender.send(advertise("pair", "pair >= 0"))  # some brokers route by what is advertised
    sender.answer()
    lock = threading.Lock()
    worst, count, begun = 0.0, 0, 0.0

    def ask() -> None:
        nonlocal worst, count
        for _ in sys.stdin:
            with lock:
                waiting = time.monotonic() - begun if begun else 0.0
                print(f"worst {max(worst, waiting):.6f} {count}", flush=True)
                worst, count = 0.0, 0
        receiver.close()
        sender.close()

    threading.Thread(target=ask, daemon=True).start()
    print("ready", flush=True)
    try:
        number = 0
        while True:
            number += 1
            with lock:
                begun = time.monotonic()
            sender.send(publish(number, {"pair": number, "note": "well behaved", "fill": "x" * 50}))
            receiver.answer()
            with lock:
                worst, count = max(worst, time.monotonic() - begun), count + 1
                begun = 0.0
            sender.discard()
            time.sleep(PAUSE_S)
    except OSError as error:
        if not sys.stdin.closed:
            print("lost", error, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], is_secret=sys.argv[4] == "tls")

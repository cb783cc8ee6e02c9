"""Attack a broker, one attack after the other, and say what others noticed of each.

`python benchmarks/attacks/run.py --help` says what can be chosen. Each attack gets a broker of its
own with default settings, and a well-behaved pair beside it (`pair.py`). A row has the longest
round trip of the pair in half a second of calm before, and during the attack; the longest time that
the broker's loop was in one callback (processor time, which a busy machine does not stretch); how
much the broker's memory was larger at its largest than before; and how long the attack took. `!`
marks what is above the bars: what the pair waits longer than in the calm, and memory without that
of subscriptions that the broker has to keep.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attacks import KNOWN, MORE
from doors import DOORS
from links import KEEPS
from shared import SHARED
from target import DOORS as WITH_DOORS
from target import GUARDED, PLAIN, SECRET, TOKEN, Attack, Target, options_of

HERE = Path(__file__).resolve().parent
PAUSE_MAX_S = 0.1
MEMORY_MAX_MIB = 64.0
SUBSCRIPTION_BYTES = 1000
"""The memory that a subscription may take at a broker that has to keep it, its id included."""

CALM_S = 0.5

HEAD = (
    f"{'attack':60} {'calm ms':>8} {'worst ms':>9} {'turn ms':>9} {'MiB':>7} {'kept':>7} "
    f"{'cpu s':>7} {'took s':>7}"
)


class Broker:
    """The broker's process."""

    def __init__(self, options: Sequence[str], kind: str = PLAIN) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sapwood-attacks-")
        options = [*options, *options_of(kind, Path(self._folder.name))]
        command = [sys.executable, str(HERE / "broker.py"), *options, "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [*command, "--log-level", "error"], stdout=subprocess.PIPE, text=True
        )
        words = self._line("listening").split()
        host, _, port = words[2].removeprefix("tls://").rpartition(":")
        self.target = Target(host, int(port))
        if kind in (WITH_DOORS, GUARDED, SECRET):
            http = int(re.findall(r":(\d+)/metrics", self._line("metrics"))[0])
            mqtt = int(self._line("MQTT").rpartition(":")[2])
            token = TOKEN if kind == GUARDED else ""
            self.target = Target(host, int(port), http, mqtt, token, kind == SECRET)

    def longest_turn_s(self) -> float:
        """The longest callback since the last call, in seconds of processor time."""
        self.process.send_signal(signal.SIGUSR1)
        return float(self._line("turn").split()[1])

    def memory_mib(self, *, largest: bool = False) -> float:
        """Resident memory now, or the largest since `forget_largest`."""
        key = "VmHWM:" if largest else "VmRSS:"
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(key))
        return int(line.split()[1]) / 1024

    def forget_largest(self) -> None:
        """Begin anew to look for the largest memory."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def processor_s(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()

    def _line(self, start: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(start):
                return line
        raise SystemExit("the broker has ended")


class Pair:
    """The well-behaved pair's process."""

    def __init__(self, target: Target) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, str(HERE / "pair.py"), target.host, str(target.port)),
                *(target.token, "tls" if target.is_secret else "plain"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "ready"

    def worst_s(self) -> float:
        """The longest round trip since the last call; infinite where the pair was cut off."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print(file=self.process.stdin, flush=True)
        except OSError:
            return float("inf")
        line = self.process.stdout.readline()
        words = line.split()
        if words[:1] == ["worst"]:
            return float(words[1])
        print(f"the pair: {line.strip()}", file=sys.stderr)
        return float("inf")

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


@contextmanager
def scene(options: Sequence[str], kind: str) -> Iterator[tuple[Broker, Pair]]:
    """A broker and a pair that is warm."""
    broker = Broker(options, kind)
    pair = None
    try:
        pair = Pair(broker.target)
        time.sleep(1.5)  # compiled kernels are loaded beside the loop
        yield broker, pair
    finally:
        if pair is not None:
            pair.stop()
        broker.stop()


def measure(
    attack: Attack, options: Sequence[str], kind: str, timeout_s: float
) -> dict[str, float]:
    """The delays, the memory and the processor time of one attack, in a scene of its own."""
    with scene(options, kind) as (broker, pair):
        time.sleep(CALM_S)
        calm_s = pair.worst_s()
        broker.longest_turn_s()
        broker.forget_largest()
        before, used, begun = broker.memory_mib(), broker.processor_s(), time.monotonic()
        thread = threading.Thread(target=attack, args=(broker.target,), daemon=True)
        thread.start()
        thread.join(timeout_s)
        took = time.monotonic() - begun
        time.sleep(CALM_S)
        return {
            "calm_ms": 1000 * calm_s,
            "worst_ms": 1000 * pair.worst_s(),
            "turn_ms": 1000 * broker.longest_turn_s(),
            "memory_mib": broker.memory_mib(largest=True) - before,
            "kept_mib": broker.memory_mib() - before,
            "processor_s": broker.processor_s() - used,
            "took_s": took if not thread.is_alive() else float("inf"),
        }


def main() -> None:
    """Run the chosen attacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="run attacks whose names hold one of these")
    parser.add_argument("--json", action="store_true", help="one line of JSON an attack")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="add JSON lines; attacks that are there are passed"
    )
    parser.add_argument(
        "--table", action="store_true", help="write what --out has as a table in Markdown, no more"
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no attack after these")
    parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="of one attack")
    parser.add_argument("--cold", action="store_true", help="begin before kernels are loaded")
    parser.add_argument("--broker", default="", help="further options of the broker")
    given = parser.parse_args()
    if given.table:
        print(_table(given.out))
        return
    options = [*(["--cold"] if given.cold else []), *given.broker.split()]
    if not given.json:
        print(HEAD)
    done, begun = _done(given.out), time.monotonic()
    plain = {name: (PLAIN, attack) for name, attack in (KNOWN | MORE).items()}
    for name, (kind, attack) in (plain | SHARED | DOORS).items():
        if name in done or (given.words and not any(word in name for word in given.words)):
            continue
        if given.seconds is not None and time.monotonic() - begun > given.seconds:
            print("there are more", file=sys.stderr)
            break
        row = measure(attack, options, kind, given.timeout)
        line = json.dumps({"attack": name, **row})
        if given.out is not None:
            with given.out.open("a") as out:
                print(line, file=out)
        print(line if given.json else _row(name, row), flush=True)


def _done(out: Path | None) -> set[str]:
    """The attacks that a file has."""
    if out is None or not out.exists():
        return set()
    return {json.loads(line)["attack"] for line in out.read_text().splitlines()}


def _table(out: Path) -> str:
    """A table of a file: the pair's longest wait beyond that in the calm, turns, and memory."""
    lines = ["| Attack | pair waits, ms | turn, ms | MiB |", "|---|---|---|---|"]
    for line in out.read_text().splitlines():
        row = json.loads(line)
        waits = max(0.0, row["worst_ms"] - row["calm_ms"])
        numbers = (f"{one:.0f}" for one in (waits, row["turn_ms"], row["memory_mib"]))
        lines.append(f"| {row['attack']} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _row(name: str, row: dict[str, float]) -> str:
    own_mib = row["memory_mib"] - KEEPS.get(name, 0) * SUBSCRIPTION_BYTES / 2**20
    waited_ms = row["worst_ms"] - row["calm_ms"]
    bad = waited_ms > 1000 * PAUSE_MAX_S or own_mib > MEMORY_MAX_MIB
    return (
        f"{name[:58]:58} {'!' if bad else ' '} {row['calm_ms']:8.1f} "
        f"{row['worst_ms']:9.1f} {row['turn_ms']:9.1f} {row['memory_mib']:7.1f} "
        f"{row['kept_mib']:7.1f} {row['processor_s']:7.2f} {row['took_s']:7.1f}"
    )


if __name__ == "__main__":
    main()

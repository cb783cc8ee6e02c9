"""Run Sapwood and its peers on the same files, one after the other, and print one table.

`python benchmarks/peers/run.py --help` says what can be chosen; README.md says what a row means.
A peer whose tools are missing gets a row that names them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
SLACK_S: Final = 120.0
"""The time that a process may take beside filling and matching, to start and to read its files."""

HEADINGS: Final = (
    "workload",
    "subscriptions",
    "engine",
    "takes",
    "add us",
    "match us",
    "p99 us",
    "bytes each",
    "matches",
    "x columnar",
    "remark",
)


@dataclass(frozen=True, slots=True)
class Peer:
    """An engine, what it is built and run with, and what a publication is when the clock starts.

    `build` and `run` are commands, run in `folder`; `run` is followed by the arguments of the
    protocol.
    """

    name: str
    takes: str
    folder: Path
    tools: tuple[str, ...]
    build: tuple[str, ...]
    run: tuple[str, ...]


def _jvm(name: str, takes: str) -> Peer:
    return Peer(
        name,
        takes,
        HERE / "jvm",
        ("java", "mvn"),
        ("mvn", "-q", "-B", "package", "dependency:copy-dependencies"),
        ("java", "-Xmx8g", "-cp", "target/peers-1.jar:target/dependency/*", "peers.Main", name),
    )


def _go(name: str, takes: str) -> Peer:
    folder = HERE / "go" / name
    return Peer(
        name, takes, folder, ("go",), ("go", "build", "-mod=mod", "-o", "target/peer", "."),
        ("target/peer", name),
    )  # fmt: skip


def _ours(name: str) -> Peer:
    return Peer(name, "a record", HERE, (), (), (sys.executable, "ours.py", name))


PEERS: Final = (
    _ours("columnar"),
    _ours("columnar/64"),
    _ours("counting"),
    _jvm("event-ruler", "JSON text"),
    _jvm("lucene-monitor", "a document"),
    Peer(
        "a-tree",
        "an event",
        HERE / "rust",
        ("cargo",),
        ("cargo", "build", "--release", "--quiet"),
        ("target/release/peers", "a-tree"),
    ),
    _go("quamina", "JSON text"),
    _go("hypermatch", "properties"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run, check, print; the exit status is 1 if a count was wrong."""
    chosen = _parser().parse_args(arguments)
    peers = [peer for peer in PEERS if not chosen.peer or peer.name in chosen.peer]
    troubles = {peer.name: trouble(peer) for peer in peers}
    sizes = [int(size) for size in chosen.sizes.split(",")]
    rows: list[dict[str, Any]] = []
    for workload in chosen.workload or ["eq", "mix"]:
        folder = chosen.work / workload
        _export(workload, chosen.sizes, chosen.work)
        expected = json.loads((folder / "expected.json").read_text("utf-8"))
        for size in sizes:
            for peer in peers:
                report = troubles[peer.name] or run(
                    peer, folder, size, chosen.fill_seconds, chosen.seconds
                )
                base_us = base_of(rows, workload, size)
                place = (workload, size)
                rows.append(row(place, peer, report, expected[str(size)], base_us))
                print(f"{workload} {size:,} {peer.name}: {rows[-1]['remark']}", file=sys.stderr)
                if chosen.out:  # after each row: a run that is broken off leaves what it has
                    chosen.out.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")
    print_table(rows)
    return int(any(found["remark"].startswith("VOID") for found in rows))


def trouble(
    peer: Peer,
    which: Callable[[str], str | None] = shutil.which,
    build: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run,
) -> str:
    """Build a peer; what is missing or went wrong, or nothing."""
    missing = [tool for tool in peer.tools if which(tool) is None]
    if missing:
        return f"not run: {' and '.join(missing)} missing"
    if not peer.build:
        return ""
    done = build(peer.build, cwd=peer.folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"not run: {peer.build[0]} failed ({said[-1][:160] if said else 'and said nothing'})"


def run(peer: Peer, folder: Path, size: int, fill: float, seconds: float) -> dict[str, Any] | str:
    """The peer's report, or what went wrong."""
    files = [str(folder / name) for name in ("subscriptions.jsonl", "publications.jsonl")]
    try:
        done = subprocess.run(
            [*peer.run, *files, str(size), str(fill), str(seconds)],
            cwd=peer.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=fill + seconds + SLACK_S,
        )
    except subprocess.TimeoutExpired:
        return f"given up after {fill + seconds + SLACK_S:g} s"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["nothing"]
        return f"failed: {said[0][:160]}"
    return dict(json.loads(done.stdout))


def base_of(rows: Sequence[dict[str, Any]], workload: str, size: int) -> float | None:
    """The matching time of columnar in the same run, in microseconds."""
    cell = (workload, size, "columnar")
    for found in rows:
        if (found["workload"], found["subscriptions"], found["engine"]) == cell:
            took: float | None = found["match_us"]
            return took
    return None


def row(
    place: tuple[str, int],
    peer: Peer,
    report: dict[str, Any] | str,
    expected: int,
    base_us: float | None,
) -> dict[str, Any]:
    """One row of the table; figures are missing where the peer was not run or not filled.

    `place` is the workload and the number of subscriptions, `expected` how many matches there are,
    `base_us` what columnar takes.
    """
    workload, size = place
    found: dict[str, Any] = {
        "workload": workload,
        "subscriptions": size,
        "engine": peer.name,
        "takes": peer.takes,
        **dict.fromkeys(("add_us", "match_us", "match_p99_us", "bytes", "matches", "ratio")),
    }
    if isinstance(report, str):
        return {**found, "remark": report}
    added = report["added"]
    if report["inexpressible"] and not added:
        return {**found, "remark": "not run: it can say none of the subscriptions"}
    found["add_us"] = report["build_s"] / max(1, added) * 1e6
    if "match_us" not in report:
        return {**found, "remark": f"not filled in time ({added:,} of {size:,} added)"}
    return {
        **found,
        "match_us": report["match_us"],
        "match_p99_us": report["match_p99_us"],
        "bytes": report["memory_bytes"] / added,
        "matches": report["matches"],
        "ratio": report["match_us"] / base_us if base_us else 1.0,
        "remark": remark(report, expected),
    }


def remark(report: dict[str, Any], expected: int) -> str:
    """The verdict on a count of matches; it is partial if a peer cannot say all subscriptions."""
    if report["inexpressible"]:
        return f"partial: cannot say {report['inexpressible']:,} subscriptions"
    if report["matches"] != expected:
        return f"VOID: {report['matches']:,} matches instead of {expected:,}"
    return "counts agree"


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as a Markdown table."""
    print(f"| {' | '.join(HEADINGS)} |")
    print(f"|{'|'.join('---' for _ in HEADINGS)}|")
    for found in rows:
        print(f"| {' | '.join(_cells(found))} |")


def _cells(found: dict[str, Any]) -> Iterator[str]:
    yield from (found["workload"], f"{found['subscriptions']:,}", found["engine"], found["takes"])
    for name, form in (
        ("add_us", ",.1f"),
        ("match_us", ",.1f"),
        ("match_p99_us", ",.1f"),
        ("bytes", ",.0f"),
        ("matches", ",d"),
        ("ratio", ",.1f"),
    ):
        yield "-" if found[name] is None else format(found[name], form)
    yield found["remark"]


def _export(workload: str, sizes: str, work: Path) -> None:
    command = ("bench", "records", "--workload", workload, "--sizes", sizes, "--export", str(work))
    subprocess.run([sys.executable, "-m", "sapwood", *command], check=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", action="append", help="repeatable; eq and mix otherwise")
    parser.add_argument("--sizes", default="10000,100000", help="subscriptions, between commas")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS])
    parser.add_argument("--fill-seconds", type=float, default=60.0, help="to add subscriptions")
    parser.add_argument("--seconds", type=float, default=6.0, help="to match, half to warm up")
    parser.add_argument("--work", type=Path, default=HERE / "build", help="folder for the files")
    parser.add_argument("--out", type=Path, help="file for the rows as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())

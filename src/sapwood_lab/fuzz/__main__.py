"""`python -m sapwood_lab.fuzz`: inputs for every target, judged; see `--help`.

Writes a line of JSON for each target, and one for each finding; ends with status 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from sapwood_lab.fuzz.driver import Report, run
from sapwood_lab.fuzz.targets import targets


def main() -> int:
    """Judge inputs."""
    parser = argparse.ArgumentParser(prog="python -m sapwood_lab.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", help="only those whose name has this in it")
    given = parser.parse_args()
    chosen = [
        one
        for one in targets()
        if given.target is None or any(word in one.name for word in given.target)
    ]
    if not chosen:
        parser.error("no target has such a name: " + ", ".join(one.name for one in targets()))
    shares = sum(one.share for one in chosen)
    total = Report("all")
    for target in chosen:
        try:
            report = run(target, given.seed, -(-given.inputs * target.share // shares))
        finally:
            target.close()
        total.add(report)
        for finding in report.findings:
            _say(asdict(finding))
        _say(_line(report))
    _say(_line(total))
    return 1 if total.findings else 0


def _line(report: Report) -> dict[str, object]:
    return {
        "target": report.target,
        "inputs": report.inputs,
        "refused": report.refused,
        "seconds": round(report.seconds, 2),
        "findings": len(report.findings),
    }


def _say(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    sys.exit(main())

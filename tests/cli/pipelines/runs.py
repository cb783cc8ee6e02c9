"""Runs of `sapwood pipeline` for the tests below, and their inputs."""

from __future__ import annotations

from click.testing import CliRunner, Result

from sapwood.cli.main import main

GOOD_S = '{"id": "s", "filter": "x > 1"}\n'
BAD_S = '{"id": "bad", "filter": "x >"}\n'
GOOD_P = '{"id": "p", "attributes": {"x": 2, "t": [1]}}\n{"id": "q", "attributes": {"x": 1}}\n'
BAD_P = "nope\n"
COUNTED = {"read": 2, "good": 2, "rejected": 0}


def run(*arguments: object) -> Result:
    """Run `sapwood pipeline` with these arguments."""
    return CliRunner().invoke(main, ["pipeline", *map(str, arguments)])

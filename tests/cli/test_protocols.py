"""`sapwood protocols`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.routing.protocols import PROTOCOLS


def test_protocols_lists_the_catalogue_as_json() -> None:
    result = CliRunner().invoke(main, ["protocols", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == list(PROTOCOLS)
    assert {"name": "covering", "kinds": ["records", "documents"], "exact": True} in rows
    assert all(set(row) == {"name", "kinds", "exact"} for row in rows)


def test_protocols_lists_the_catalogue_as_a_table() -> None:
    lines = CliRunner().invoke(main, ["protocols"]).stdout.splitlines()
    assert lines[0].split() == ["NAME", "KINDS", "EXACT", "SUMMARY"]
    assert [line.split()[0] for line in lines[1:]] == list(PROTOCOLS)

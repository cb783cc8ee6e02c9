"""`sapwood protocols`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.routing.protocols import MEMBERSHIPS, PROTOCOLS, UPKEEPS
from sapwood.routing.upkeep.failover.choice import FAILOVER
from sapwood.simulation.semantic.protocols import SEMANTIC


def test_protocols_lists_the_catalogue_as_json() -> None:
    result = CliRunner().invoke(main, ["protocols", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == [*PROTOCOLS, *SEMANTIC]
    assert rows[0] == {
        "name": "covering",
        "kinds": ["records", "documents"],
        "exact": True,
        "allows_loss": False,
        "membership": "given",
        "propagation": "covering",
        "forwarding": "every-hop",
        "upkeep": "replay",
    }
    assert all(row.keys() == rows[0].keys() for row in rows)


def test_protocols_lists_the_catalogue_as_a_table() -> None:
    lines = CliRunner().invoke(main, ["protocols"]).stdout.splitlines()
    assert lines[0].split() == [
        *("NAME", "MEMBERSHIP", "PROPAGATION", "FORWARDING", "UPKEEP"),
        *("KINDS", "EXACT", "LOSS", "SUMMARY"),
    ]
    last = 1 + len(PROTOCOLS) + len(SEMANTIC)
    assert [line.split()[0] for line in lines[1:last]] == [*PROTOCOLS, *SEMANTIC]
    assert lines[last] == ""
    words = [line.split()[0] for line in lines[last + 2 :]]
    assert words == [*MEMBERSHIPS, *UPKEEPS, FAILOVER.name]

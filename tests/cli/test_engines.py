"""`sapwood engines`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.matching.documents.engines import DOCUMENT_ENGINES
from sapwood.matching.engines import ENGINES


def test_engines_lists_the_catalogue_as_json() -> None:
    result = CliRunner().invoke(main, ["engines", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == [*ENGINES, *DOCUMENT_ENGINES]
    assert {"name": "reference", "kind": "records", "exact": True} in rows
    assert {"name": "path-automaton", "kind": "documents", "exact": True} in rows
    assert all(set(row) == {"name", "kind", "exact"} for row in rows)


def test_engines_lists_the_catalogue_as_a_table() -> None:
    lines = CliRunner().invoke(main, ["engines"]).stdout.splitlines()
    assert lines[0].split() == ["NAME", "KIND", "EXACT", "SUMMARY"]
    assert [line.split()[0] for line in lines[1:]] == [*ENGINES, *DOCUMENT_ENGINES]

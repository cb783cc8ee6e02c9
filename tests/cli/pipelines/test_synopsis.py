from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.pipelines.runs import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.long
def test_synopsis_says_what_it_did(tmp_path: Path) -> None:
    lines = [
        '{"id": "p", "document": "<a><b x=\'1\'/></a>"}',
        '{"id": "q", "attributes": {"x": 1}}',
        '{"id": "r", "document": "<a>"}',
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(lines) + "\n")
    arguments = ("synopsis", "--publications", tmp_path / "p.jsonl", "--out", tmp_path / "out")
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines() == [
        f"3 paths of 1 document in {tmp_path}/out",
        "1 publication without a document passed over",
        f"1 line rejected: see {tmp_path}/out.rejected",
    ]
    again = run(*arguments, "--json", "--no-attributes")
    assert json.loads(again.stdout) == {
        "documents": 1,
        "others": 1,
        "rejected": 1,
        "paths": 2,
        "out": f"{tmp_path}/out",
        "aside": f"{tmp_path}/out.rejected",
    }

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.pipelines.runs import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.long
def test_sweep_simulates_every_combination_once(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "x > 1"}\n')
    (tmp_path / "p.jsonl").write_text('{"id": "p", "attributes": {"x": 2}}\n')
    (tmp_path / "c.toml").write_text(
        f'[constants]\nsubscriptions = "{tmp_path}/s.jsonl"\npublications = "{tmp_path}/p.jsonl"\n'
        '[grid]\nprotocol = ["flooding", "none"]\ntopology = ["line:2"]\nseed = [1]\n'
    )
    paths = ("--configurations", tmp_path / "c.toml", "--out", tmp_path / "out")
    done = run("sweep", *paths)
    assert done.exit_code == 1, done.output
    first, second = done.stderr.splitlines()
    assert first == f"2 configurations: 1 done, 0 done before, 1 failed: see {tmp_path}/out/table"
    assert second.startswith("the first failure: UnknownNameError: ")
    told = json.loads(run("sweep", *paths, "--json").stdout)
    assert (told["done"], told["skipped"], told["failed"]) == (0, 1, 1)

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.pipelines.runs import GOOD_P, run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.long
def test_ingest_reads_csv_with_what_options_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("carrier;flight;x\nUA;1;-\nAA;2;1.5\nAA;2;2\n")
    done = run(
        *("ingest", "--publications", tmp_path / "a.txt", "--out", tmp_path / "out", "--json"),
        *("--schema", "carrier STRING, x DOUBLE", "--format", "csv", "--delimiter", ";"),
        *("--id", "carrier", "--id", "flight", "--null-value", "-"),
    )
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout) == {
        "publications": {"read": 3, "good": 2, "rejected": 1},
        "undeclared_attributes": [],
        "out": f"{tmp_path}/out",
        "rejected_file": f"{tmp_path}/out.rejected",
    }


def test_ingest_says_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD_P + '{"id": "r", "attributes": {"x": "2", "y": 1}}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "z", "attributes": {"y": 1}}\n')
    done = run(
        *("ingest", "--publications", tmp_path / "*.jsonl", "--out", tmp_path / "out"),
        *("--schema", "x INT, t ARRAY<INT>"),
    )
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines() == [
        f"3 publications in {tmp_path}/out",
        "not declared by the schema, and therefore not carried: y",
        f"1 line rejected: see {tmp_path}/out.rejected",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--null-value", "NA"), "which needs a --schema as well"),
        (("--schema", "x DUBBLE"), "is no Spark DDL"),
        (("--schema", "x DATE"), "'x': a column of type DATE"),
        (("--schema", "none.toml"), "none.toml: cannot be read"),
    ],
)
def test_ingest_ends_with_2_when_the_schema_is_none(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD_P)
    done = run("ingest", "--publications", tmp_path, "--out", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert said in done.stderr

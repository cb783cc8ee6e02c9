from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.pipelines.common import (
    check_inputs,
    count_members,
)
from sapwood.errors import FileFormatError
from sapwood.pipeline.spark import session
from sapwood.pipeline.tables.summaries import Counts
from tests.cli.pipelines.runs import run


def test_counts_have_the_same_members_everywhere() -> None:
    counts = Counts(5, 3, 2)
    assert count_members(counts) == {"read": 5, "good": 3, "rejected": 2}


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """No session can be had; that a test goes that far is its failure."""

    def refuse(*_: object) -> None:
        raise AssertionError("a session is asked for")

    monkeypatch.setattr(session, "running_session", refuse)
    for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    "arguments",
    [
        ("match", "--subscriptions", "{there}", "--publications", "{absent}", "--out", "out"),
        ("match", "--subscriptions", "{absent}", "--publications", "{there}", "--out", "out"),
        ("ingest", "--publications", "{absent}", "--out", "out"),
        ("compile", "--subscriptions", "{absent}", "--out", "out"),
        ("stream", "--subscriptions", "{there}", "--publications", "{absent}", "--out", "out"),
        ("stream", "--subscriptions", "{absent}", "--publications", "{there}", "--out", "out"),
        ("backfill", "--subscriptions", "{absent}", "--journal", "{there}", "--out", "out"),
        ("backfill", "--subscriptions", "{there}", "--journal", "{absent}", "--out", "out"),
        (
            *("backfill", "--subscriptions", "{there}", "--journal", "localhost:1"),
            *("--lake", "{absent}", "--out", "out"),
        ),
        ("report", "--deliveries", "{there}", "--publications", "{absent}", "--out", "out"),
        ("report", "--deliveries", "{there}", "--table-sizes", "{absent}", "--out", "out"),
    ],
)
def test_a_file_that_is_not_there_is_named_before_spark_starts(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    there, absent = tmp_path / "there", tmp_path / "absent.jsonl"
    there.touch()
    result = run(*(one.format(there=there, absent=absent) for one in arguments))
    assert result.exit_code == 2
    assert f"{absent}: there is no such file or folder" in result.stderr


@pytest.mark.usefixtures("no_spark")
def test_csv_without_a_schema_is_refused_before_spark_starts(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,x\n1,2\n", encoding="utf-8")
    for more in ((), ("--format", "csv")):
        result = run("ingest", "--publications", file, "--out", tmp_path / "out", *more)
        assert result.exit_code == 2
        assert "CSV needs a schema" in result.stderr


def test_what_may_not_be_a_path_of_this_machine_is_left_to_spark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_inputs(None, "s3://bucket/absent", "127.0.0.1:7411", "absent/*.jsonl", None)
    check_inputs("yarn", "absent")
    with pytest.raises(FileFormatError):
        check_inputs("local[2]", "absent")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    check_inputs("local[2]", "absent")

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.cli.pipelines.runs import run


def test_job_prints_a_program_for_spark_submit() -> None:
    done = run("job")
    assert done.exit_code == 0
    assert Path(done.stdout.strip()).name == "job.py"
    assert Path(done.stdout.strip()).is_file()


def test_every_command_is_there_and_says_what_it_does() -> None:
    told = run("--help").stdout
    for name in ("ingest", "compile", "match", "stream", "backfill", "report", "sweep"):
        assert f"\n  {name} " in told
        assert "--explain" in run(name, "--help").stdout
    for name in ("job", "pack"):
        assert f"\n  {name} " in told
        assert run(name, "--help").exit_code == 0


def test_pack_prints_the_options_that_bring_the_package_to_executors(tmp_path: Path) -> None:
    archive = tmp_path / "sapwood.zip"
    done = run("pack", archive)
    assert done.exit_code == 0, done.output
    assert done.stdout.split() == [
        *("--archives", f"'{archive}#sapwood-package'"),
        *("--conf", "spark.executorEnv.PYTHONPATH=sapwood-package"),
    ]
    assert zipfile.is_zipfile(archive)

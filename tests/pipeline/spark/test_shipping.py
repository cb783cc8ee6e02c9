"""The main jobs on executors of their own, which have the package from the archive alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.errors import FileFormatError
from sapwood.pipeline.spark.shipping import UNPACKED_NAME, pack_packages, submit_options
from tests.patience import PATIENCE_S
from tests.pipeline import cluster
from tests.sessions import QUICK_JVM

MASTER = "local-cluster[2,1,1024]"
WANTED = {f"s{n}": f"x > {n}" for n in range(20)}
PUBLISHED = {f"p{n}": {"x": n, "carrier": "UA"} for n in range(30)}
PAIRS = sorted(
    (p, s) for p, r in PUBLISHED.items() for s, f in WANTED.items() if parse_filter(f).matches(r)
)


def test_the_archive_holds_the_package_and_no_caches(tmp_path: Path) -> None:
    archive = pack_packages(tmp_path / "sapwood.zip")
    with zipfile.ZipFile(archive) as packed:
        names = packed.namelist()
    assert "sapwood/__init__.py" in names
    assert "sapwood/matching/columnar/kernels/compiled.py" in names
    assert not [name for name in names if "__pycache__" in name]
    with pytest.raises(FileFormatError, match="cannot be written"):
        pack_packages(tmp_path / "none" / "sapwood.zip")


@pytest.fixture
def executors_python(tmp_path: Path) -> Path:
    """A Python with what the package depends on, and without the package."""
    libraries = Path(pytest.importorskip("pyspark").__file__).parent.parent
    script = tmp_path / "python"
    # Without `site` no path file is read, and an installation for development is one.
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{libraries}" exec {sys.executable} -S "$@"\n'
    )
    script.chmod(0o755)
    done = subprocess.run([script, "-c", "import sapwood"], capture_output=True, check=False)
    if done.returncode == 0:
        pytest.skip("the package is installed among the libraries, and nothing would be shown")
    return script


@pytest.fixture
def work_folder() -> Iterator[Path]:
    """The folder for the executors of a local cluster; new ones in it are removed afterwards."""
    work = Path(pytest.importorskip("pyspark").__file__).parent / "work"
    before = set(work.iterdir()) if work.is_dir() else None
    yield work
    if before is None:
        shutil.rmtree(work, ignore_errors=True)
    else:
        for folder in set(work.iterdir()) - before:
            shutil.rmtree(folder, ignore_errors=True)


def submitted(program: str, arguments: list[str], folder: Path, python: Path) -> Any:
    submit = Path(pytest.importorskip("pyspark").__file__).parent / "bin" / "spark-submit"
    ours = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [
            *(str(submit), "--master", MASTER),
            *submit_options(str(pack_packages(folder / "sapwood.zip"))),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"),
            *("--conf", f"spark.driver.extraJavaOptions={QUICK_JVM}"),
            *("--conf", f"spark.executor.extraJavaOptions={QUICK_JVM}"),
            *("--conf", "spark.driver.bindAddress=127.0.0.1"),
            *(program, *arguments),
        ],
        env={
            **environment,
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.long
@pytest.mark.spark
def test_the_main_jobs_run_on_a_cluster_that_got_the_package_with_the_job(
    spark: Any, tmp_path: Path, executors_python: Path, work_folder: Path
) -> None:
    (tmp_path / "s.jsonl").write_text(
        "".join(json.dumps({"id": id_, "filter": text}) + "\n" for id_, text in WANTED.items())
    )
    (tmp_path / "p.jsonl").write_text(
        "".join(json.dumps({"id": i, "attributes": r}) + "\n" for i, r in PUBLISHED.items())
    )
    both = ("--publications", "p.jsonl", "--engine", "counting")
    commands = [
        ["compile", "--subscriptions", "s.jsonl", "--out", "set", "--engine", "counting"],
        ["match", "--subscriptions", "set", "--output", "homes", *both, "--out", "homes"],
        ["match", "--subscriptions", "s.jsonl", "--layout", "sharded", *both, "--out", "pairs"],
        ["ingest", "--publications", "p.jsonl", "--schema", "x BIGINT", "--out", "lake"],
        ["match", "--subscriptions", "s.jsonl", "--publications", "lake", "--out", "stored"],
    ]
    done = submitted(cluster.__file__, [json.dumps(commands)], tmp_path, executors_python)
    assert done.returncode == 0, done.stderr
    told = [line.split() for line in done.stdout.splitlines()]
    assert [line for line in told if line[:1] == ["STATUS"]] == [["STATUS", "0"]] * len(commands)
    places = [line[1:] for line in told if line[:1] == ["PLACE"]]
    assert len({folder for folder, _ in places}) == 2
    assert all(origin.startswith(f"{folder}/{UNPACKED_NAME}") for folder, origin in places)
    for out in ("pairs", "stored"):
        rows = spark.read.parquet(str(tmp_path / out)).collect()
        assert sorted(map(tuple, rows)) == PAIRS
    # Executors that share a folder write there by themselves.
    assert (tmp_path / "stored" / "part-00000.parquet").is_file()
    homes = spark.read.parquet(str(tmp_path / "homes")).collect()
    assert sorted(map(tuple, homes)) == sorted({(p, "r1") for p, _ in PAIRS})

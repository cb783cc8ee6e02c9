from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sapwood.pipeline import job
from tests.patience import PATIENCE_S
from tests.pipeline.stored import pairs_at
from tests.sessions import QUICK_JVM, QUICK_PLANS

SUBSCRIPTIONS = '{"id": "s", "filter": "x > 1"}\n{"id": "bad", "filter": "x >"}\n'
PUBLICATIONS = '{"id": "p", "attributes": {"x": 2}}\n{"id": "q", "attributes": {"x": 1}}\n'


@pytest.mark.spark
@pytest.mark.long
def test_the_program_runs_under_spark_submit_on_its_session(spark: Any, tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    (tmp_path / "s.jsonl").write_text(SUBSCRIPTIONS)
    (tmp_path / "p.jsonl").write_text(PUBLICATIONS)
    done = subprocess.run(
        [
            *(str(submit), "--master", "local[1]", "--name", "of the submitter"),
            *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1"),
            *("--conf", f"spark.driver.extraJavaOptions={QUICK_JVM}"),
            *(word for set_ in QUICK_PLANS.items() for word in ("--conf", "=".join(set_))),
            *(job.__file__, "match", "--subscriptions", str(tmp_path / "s.jsonl")),
            *("--publications", str(tmp_path / "p.jsonl"), "--out", str(tmp_path / "out")),
            *("--engine", "counting", "--json"),
        ],
        env={**_plain_environment(), "PYSPARK_PYTHON": sys.executable},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert '"deliveries":1' in done.stdout
    assert pairs_at(tmp_path / "out") == [("p", "s")]
    assert len(list((tmp_path / "out.rejected").glob("part-*.json"))) == 1


def _plain_environment() -> dict[str, str]:
    """The environment without what the session of this process has put into it."""
    ours = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_HOME", "PYSPARK_DRIVER_PYTHON")
    return {name: value for name, value in os.environ.items() if name not in ours}


def test_the_program_says_which_python_lacks_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sapwood.cli.main", None)
    with pytest.raises(SystemExit, match="set PYSPARK_PYTHON"):
        job.main(["match"])


def test_the_program_takes_its_own_folder_out_of_the_search_for_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = str(Path(job.__file__).parent)
    monkeypatch.setattr(sys, "path", [here, "", *sys.path])
    with pytest.raises(SystemExit) as ended:
        job.main(["--help"])
    assert ended.value.code == 0
    assert here not in sys.path
    assert "" in sys.path

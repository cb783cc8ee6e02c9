"""`compile --cluster`: a proposal of homes, and homes that publications reach before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.pipeline import CompileJob
from sapwood.pipeline.compile.clustering import Clustering

pytestmark = pytest.mark.spark


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_those_who_want_the_same_get_one_home(spark: Any, tmp_path: Path) -> None:
    # Two interests, each with subscriptions at both homes: every publication reaches both.
    some = [
        {"id": f"s{n}", "filter": f"{'x' if n % 2 else 'y'} between 0 and {100 + n}",
         "home": f"r{n // 4 % 2}"}
        for n in range(16)
    ]  # fmt: skip
    sample = [{"id": f"p{n}", "attributes": {"x" if n % 2 else "y": n}} for n in range(10)]
    job = CompileJob(
        lines(tmp_path / "s.jsonl", [*some, {"id": "bad", "filter": "("}]),
        str(tmp_path / "set"),
        cluster=Clustering(lines(tmp_path / "p.jsonl", sample)),
    )
    proposal = job.run(spark).proposal
    assert proposal is not None
    assert (proposal.before, proposal.after, proposal.publications) == (20, 10, 10)
    assert (proposal.subscriptions, proposal.moved, proposal.homes) == (16, 8, 2)
    assert proposal.saved == 0.5
    rows = spark.read.parquet(proposal.out).collect()
    by_interest = {int(row["id"][1:]) % 2: set[str]() for row in rows}
    for row in rows:
        by_interest[int(row["id"][1:]) % 2].add(row["proposed"])
        assert row["home"] == f"r{int(row['id'][1:]) // 4 % 2}"
    assert {frozenset(homes) for homes in by_interest.values()} == {
        frozenset({"r0"}),
        frozenset({"r1"}),
    }


def test_one_home_is_refused(spark: Any, tmp_path: Path) -> None:
    some = lines(tmp_path / "s.jsonl", [{"id": "s", "filter": "x > 1"}])
    sample = lines(tmp_path / "p.jsonl", [{"id": "p", "attributes": {"x": 2}}])
    job = CompileJob(some, str(tmp_path / "set"), cluster=Clustering(sample))
    with pytest.raises(InputError, match="name several --home"):
        job.run(spark)

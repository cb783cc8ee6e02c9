"""The job `similarity`: the near pairs that one process finds, however filters are cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.files.lines import decode_subscription
from sapwood.language.forms import encode_form
from sapwood.language.plain_forms import written_form
from sapwood.model.filter import NOTHING
from sapwood.pipeline import Known, SimilarityJob
from sapwood.similarity import to_bytes
from sapwood.similarity.near.pairs import near_pairs
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from tests.similarity.kinds import document

pytestmark = pytest.mark.spark

LINES = [
    *({"filter": f"x > {number % 7} and y < {number % 5}"} for number in range(20)),
    *({"filter": f"x = {number}"} for number in range(4)),
    {"filter": "x = 1 or z between 2 and 8"},
    {"filter": "z between 3 and 9"},
    {"filter": "x > 3 and x < 2"},
    *(
        {"xpath": text}
        for text in ("/a", "//a", "/a/b", "/a/*", "//b", "/a[b]/c", "/a/b[c]", "//d")
    ),
    *({"xpath": text} for text in ("/a/c", "//c", "//a/b", "/*/b", "/a[b]//c", "/b", "/zzz")),
]

DOCUMENTS = [document(bytes(range(at, at + at % 9))) for at in range(30)]

SYNOPSIS = synopsis_of(map(read_document, DOCUMENTS))


def written(folder: Path) -> str:
    path = folder / "subscriptions.jsonl"
    rows = [{"id": f"s{number}", **line} for number, line in enumerate(LINES)]
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows, {"id": "bad", "filter": "("}])
    )
    return str(path)


def by_one_process(threshold: float, known: Known) -> dict[tuple[str, str], float]:
    """Near pairs of the different filters, by their texts."""
    some = [
        decode_subscription(json.dumps({"id": f"s{number}", **line}).encode()).filter
        for number, line in enumerate(LINES)
    ]
    distinct = [one for one in dict.fromkeys(some) if one != NOTHING]
    names = [written_form(encode_form(one)).text for one in distinct]
    found = near_pairs(distinct, threshold, known.similarity())
    return {
        (min(pair), max(pair)): near.proximity
        for near in found
        for pair in [(names[near.one], names[near.other])]
    }


def of_job(spark: Any, out: Path) -> dict[tuple[str, str], float]:
    filters = spark.read.parquet(str(out / "filters")).collect()
    texts = {row["key"]: row["filter"] or row["xpath"] for row in filters}
    found = {}
    for row in spark.read.parquet(str(out / "pairs")).collect():
        assert row["one"] < row["other"]
        assert row["proximity"] == (row["there"] + row["back"]) / 2
        pair = texts[row["one"]], texts[row["other"]]
        found[min(pair), max(pair)] = row["proximity"]
    return found


@pytest.mark.parametrize(("group_max", "threshold"), [(50_000, 0.75), (4, 0.6)])
def test_pairs_are_those_of_one_process(
    spark: Any, tmp_path: Path, group_max: int, threshold: float
) -> None:
    known = Known(synopsis=to_bytes(SYNOPSIS))
    out = tmp_path / "near"
    job = SimilarityJob(written(tmp_path), str(out), known, threshold, group_max=group_max)
    summary = job.run(spark)
    expected = by_one_process(threshold, known)
    assert len(expected) > 10
    assert of_job(spark, out) == pytest.approx(expected)
    counts = (summary.subscriptions, summary.rejected, summary.uncompared, summary.pairs)
    assert counts == (len(LINES), 1, 0, len(expected))
    rows = spark.read.parquet(str(out / "members")).collect()
    assert {row["id"] for row in rows} == {f"s{number}" for number in range(len(LINES))}
    assert [row["id"] for row in rows if row["key"] is None] == ["s26"]


def test_patterns_of_which_nothing_is_known_are_said(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "near"
    summary = SimilarityJob(written(tmp_path), str(out)).run(spark)
    filters = spark.read.parquet(str(out / "filters"))
    assert summary.uncompared == filters.where("xpath IS NOT NULL").count() == 15
    assert filters.where("reason LIKE '%name a synopsis%'").count() == 15
    assert summary.pairs


def test_what_is_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"above 0\.5"):
        SimilarityJob("here", "there", threshold=0.5)
    (tmp_path / "out" / "pairs").mkdir(parents=True)
    (tmp_path / "out" / "pairs" / "a.txt").write_text("mine")
    with pytest.raises(FileFormatError, match="no earlier result"):
        SimilarityJob(written(tmp_path), str(tmp_path / "out")).run(spark)

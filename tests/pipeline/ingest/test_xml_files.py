from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.compile.job import CompileJob
from sapwood.pipeline.ingest.job import IngestJob
from sapwood.pipeline.ingest.xml_files import decode_documents
from sapwood.pipeline.matching.job import MatchJob
from sapwood.pipeline.matching.versions import CompiledSet
from sapwood.pipeline.tables.declared_schema import declared_schema

pa = pytest.importorskip("pyarrow")

EVENTS = """<events>
<event n="1"><price>1.5</price><tag>a</tag><tag>b</tag></event>
<event n="2"><price>cheap</price></event>
<event n="1"><price>3</price></event>
<event><price>4</price></event>
</events>"""


def test_documents_are_read_or_set_aside_with_the_reason() -> None:
    values = [b"<a>\xc3\xa9</a>", b"<a", b"<!DOCTYPE a><a/>"]
    batch = pa.RecordBatch.from_pydict({"file": ["1", "2", "3"], "value": values})
    (found,) = decode_documents(iter([batch]))
    good, bad, worse = found.to_pylist()
    assert (good["id"], good["document"], good["reason"]) == ("1", "<a>é</a>", None)
    for row in (bad, worse):
        assert (row["id"], row["document"]) == (None, None)
        assert row["reason"]
    assert "DOCTYPE" in worse["reason"]
    assert worse["text"] == "<!DOCTYPE a><a/>"


@pytest.mark.spark
def test_elements_and_documents_are_ingested_compiled_and_matched(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "events.xml").write_text(EVENTS)
    schema = declared_schema("price DOUBLE, tag ARRAY<STRING>")
    job = IngestJob(
        str(tmp_path / "events.xml"),
        str(tmp_path / "events"),
        schema=replace(schema, id_columns=("_n",)),
        row_tag="event",
    )
    summary = job.run(spark)
    counts = summary.publications
    assert (counts.read, counts.good, counts.rejected) == (4, 1, 3)
    (row,) = spark.read.parquet(str(tmp_path / "events")).collect()
    assert (row["id"], row["attributes"]["price"], row["document"]) == ("1", 1.5, None)
    aside = spark.read.json(summary.aside).orderBy("line").collect()
    assert [row["line"] for row in aside] == [2, 3, 4]
    assert "does not fit the schema" in aside[0]["reason"]
    assert "'1' was on line 1 already" in aside[1]["reason"]
    (tmp_path / "docs").mkdir()
    for name, text in (("a", "<p><q/></p>"), ("b", "<r/>"), ("c", "<p>")):
        (tmp_path / "docs" / f"{name}.xml").write_text(text)
    documents = IngestJob(str(tmp_path / "docs"), str(tmp_path / "lake")).run(spark)
    assert (documents.publications.good, documents.rejected) == (2, 1)
    wanted = [
        '{"id": "s", "xpath": "//q", "home": "r1"}',
        '{"id": "t", "xpath": "/r", "home": "r2"}',
        '{"id": "u", "xpath": "/r", "home": "r2"}',
        '{"id": "v", "filter": "price is null", "home": "r3"}',
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(wanted))
    subscriptions, lake = str(tmp_path / "s.jsonl"), str(tmp_path / "lake")
    matched = MatchJob(subscriptions, lake, str(tmp_path / "pairs"), engine="counting").run(spark)
    assert matched.deliveries == 3
    pairs = spark.read.parquet(str(tmp_path / "pairs")).collect()
    found = sorted((Path(row["publication"]).name, row["subscription"]) for row in pairs)
    assert found == [("a.xml", "s"), ("b.xml", "t"), ("b.xml", "u")]
    compiled = CompileJob(subscriptions, str(tmp_path / "set")).run(spark)
    assert (compiled.report.entries, compiled.report.patterns) == (3, 2)
    assert CompiledSet.load(compiled.out).homes(b"<r><q/></r>") == ["r1", "r2"]


@pytest.mark.spark
def test_what_does_not_belong_to_xml_is_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    source, out = str(tmp_path / "a.xml"), str(tmp_path / "out")
    with pytest.raises(InputError, match="elements need a schema"):
        IngestJob(source, out, row_tag="a").run(spark)
    with pytest.raises(InputError, match="whole documents have no schema"):
        IngestJob(source, out, schema=declared_schema("x INT")).run(spark)
    with pytest.raises(FileFormatError, match="bring XML in"):
        MatchJob(source, source, out).run(spark)
    with pytest.raises(FileFormatError, match="not XML"):
        CompileJob(source, out).run(spark)
    (tmp_path / "p.jsonl").write_text("")
    with pytest.raises(InputError, match="a row tag is for XML"):
        IngestJob(str(tmp_path / "p.jsonl"), out, row_tag="a").run(spark)

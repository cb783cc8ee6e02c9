from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.cli.pipelines.similarity import known_of
from sapwood.errors import FileFormatError, InputError
from sapwood.files.synopses import save_synopsis
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from tests.cli.pipelines.runs import run

LINES = (
    '{"id": "a", "filter": "x > 1"}\n{"id": "b", "filter": "x > 1 and y = 2"}\n'
    '{"id": "c", "xpath": "/a/b"}\n{"id": "d", "xpath": "/a[b]"}\n{"id": "bad", "filter": "x >"}\n'
)


def test_what_is_known_comes_from_files(tmp_path: Path) -> None:
    assert known_of(None, None, None).is_nothing
    dtd, synopsis = tmp_path / "a.dtd", tmp_path / "a.synopsis"
    dtd.write_text("<!ELEMENT a (b)*><!ELEMENT b (#PCDATA)>")
    save_synopsis(str(synopsis), synopsis_of([read_document(b"<a><b/></a>")]))
    knowledge = known_of(str(synopsis), str(dtd), "a").similarity().knowledge
    assert knowledge.dtd is not None
    assert knowledge.synopsis is not None
    with pytest.raises(FileFormatError, match="cannot be read"):
        known_of(None, str(tmp_path / "none.dtd"), None)
    with pytest.raises(InputError, match="goes with a DTD"):
        known_of(None, None, "a")


def test_a_threshold_that_rules_nothing_out_is_no_choice() -> None:
    arguments = ["pipeline", "similarity", "--subscriptions", "s", "--out", "o"]
    done = CliRunner().invoke(main, [*arguments, "--threshold", "0.5"])
    assert done.exit_code == 2
    assert "0.5" in done.output


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.usefixtures("spark")
def test_similarity_says_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(LINES)
    arguments = ("similarity", "--subscriptions", tmp_path / "s.jsonl", "--out", tmp_path / "out")
    done = run(*arguments)
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines()[:3] == [
        f"1 near pair of 4 filters (4 subscriptions) in {tmp_path}/out",
        f"2 filters not compared: see {tmp_path}/out/filters",
        f"1 line rejected: see {tmp_path}/out.rejected",
    ]
    found = json.loads(run(*arguments, "--json", "--threshold", "0.9").stdout)
    assert (found["pairs"], found["uncompared"], found["rejected"]) == (0, 2, 1)
    assert "MapInArrow" in run(*arguments, "--explain").stdout

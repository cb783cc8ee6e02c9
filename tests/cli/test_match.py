"""`sapwood match`: files in, deliveries out."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.cli.match import BATCH
from sapwood.matching.engines import ENGINES

SUBSCRIPTIONS = """\
{"id": "cheap", "filter": "price < 50"}
{"id": "ibm", "filter": "symbol = 'IBM' and price < 100", "home": "r7"}
{"id": "any", "filter": "exists price"}
"""
PUBLICATIONS = """\
{"id": "p1", "attributes": {"symbol": "IBM", "price": 40}, "home": "r1"}
{"id": "p2", "attributes": {"symbol": "SUN", "price": 60}}
{"id": "p3", "attributes": {"symbol": "IBM"}}
"""
DELIVERIES = [("p1", "any"), ("p1", "cheap"), ("p1", "ibm"), ("p2", "any")]

BAD_SUBSCRIPTIONS = """\
{"id": "cheap", "filter": "price < 50"}
{"id": "s1", "filter": "price > 10 and"}
{"id": "s2", "filter": 10}
{"id": "cheap", "filter": "price < 40"}
this is no JSON
{"id": "s3", "xpath": "//a[1]"}
"""
BAD_PUBLICATIONS = """\
{"id": "p1", "attributes": {"price": NaN}}

{"id": "p2", "attributes": {"price": 40, "tags": ["a", "b"], "more": {"tags": []}}}
{"id": "p3", "attributes": 40}
"""


class Folder:
    """A folder with the two input files, and the command run on them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("subs.jsonl", SUBSCRIPTIONS)
        self.write("pubs.jsonl", PUBLICATIONS)

    def write(self, name: str, text: str) -> str:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def file(self, name: str) -> str:
        return str(self.path / name)

    def match(self, *arguments: str, stdin: str | None = None, **files: str) -> Result:
        subscriptions = files.get("subscriptions", self.file("subs.jsonl"))
        publications = files.get("publications", self.file("pubs.jsonl"))
        inputs = ("--subscriptions", subscriptions, "--publications", publications)
        return CliRunner().invoke(main, ["match", *inputs, *arguments], input=stdin)

    def names(self) -> set[str]:
        return {path.name for path in self.path.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def pairs(text: str) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return [(row["publication"], row["subscription"]) for row in rows]


def rejected(path: str) -> list[tuple[str, int, str]]:
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()
    ]
    return [(Path(row["file"]).name, row["line"], row["reason"]) for row in rows]


@pytest.mark.parametrize("arguments", [(), ("--out", "-")])
def test_match_prints_deliveries_and_says_how_many(
    folder: Folder, arguments: tuple[str, ...]
) -> None:
    result = folder.match(*arguments)
    assert result.exit_code == 0
    assert pairs(result.stdout) == DELIVERIES
    assert result.stderr == "3 publications matched against 3 subscriptions: 4 deliveries\n"
    assert folder.names() == {"subs.jsonl", "pubs.jsonl"}


@pytest.mark.parametrize("engine", ENGINES)
def test_match_finds_the_same_with_every_engine(folder: Folder, engine: str) -> None:
    result = folder.match("--engine", engine)
    assert pairs(result.stdout) == DELIVERIES


def test_match_writes_deliveries_to_a_file(folder: Folder) -> None:
    out = folder.write("out.jsonl", "old")
    result = folder.match("--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert pairs(Path(out).read_text(encoding="utf-8")) == DELIVERIES
    assert folder.names() == {"subs.jsonl", "pubs.jsonl", "out.jsonl"}


@pytest.mark.parametrize("which", ["subscriptions", "publications"])
def test_match_reads_either_file_from_standard_input(folder: Folder, which: str) -> None:
    text = SUBSCRIPTIONS if which == "subscriptions" else PUBLICATIONS
    assert pairs(folder.match(stdin=text, **{which: "-"}).stdout) == DELIVERIES


def test_match_reads_compressed_files(folder: Folder) -> None:
    packed = folder.path / "pubs.gz"
    packed.write_bytes(gzip.compress(PUBLICATIONS.encode()))
    assert pairs(folder.match(publications=str(packed)).stdout) == DELIVERIES


def test_match_takes_more_publications_than_one_batch(folder: Folder) -> None:
    count = 2 * BATCH + 1
    lines = "".join(f'{{"id":"{i}","attributes":{{"price":{i}}}}}\n' for i in range(count))
    result = folder.match("--engine", "counting", publications=folder.write("many.jsonl", lines))
    found = pairs(result.stdout)
    assert [publication for publication, who in found if who == "any"] == [
        str(i) for i in range(count)
    ]
    assert sum(who == "cheap" for _, who in found) == 50


def test_match_sets_bad_lines_aside_counts_them_and_ends_with_1(folder: Folder) -> None:
    folder.write("subs.jsonl", BAD_SUBSCRIPTIONS)
    folder.write("pubs.jsonl", BAD_PUBLICATIONS)
    out = folder.file("out.jsonl")
    result = folder.match("--out", out)
    assert result.exit_code == 1
    assert pairs(Path(out).read_text(encoding="utf-8")) == [("p2", "cheap")]
    assert result.stderr == (
        "1 publication matched against 1 subscription: 1 delivery\n"
        "7 lines rejected (5 of the subscriptions, 2 of the publications): "
        f"see {out}.rejected\n"
        f"rejected first: {folder.file('subs.jsonl')}, line 2: filter: expected an "
        "attribute name, not, exists or (, at position 15\n"
    )
    found = rejected(out + ".rejected")
    assert [(file, line) for file, line, _ in found] == [
        *(("subs.jsonl", line) for line in (2, 3, 4, 5, 6)),
        *(("pubs.jsonl", line) for line in (1, 4)),
    ]
    reasons = [reason for _, _, reason in found]
    expected = (
        "at position 15",
        '"filter" is a number',
        "was on line 1 already",
        "not JSON",
        "xpath: positions ([1]) are not supported, at position 5",
        "NaN",
        '"attributes" is a number',
    )
    assert all(part in reason for part, reason in zip(expected, reasons, strict=True))


def test_match_takes_records_by_themselves_with_the_member_that_is_their_id(
    folder: Folder,
) -> None:
    folder.write("subs.jsonl", '{"id": "dear", "filter": "price > 10"}')
    lines = ('{"order": 7, "price": 11}', '{"order": "8", "price": 5}', '{"price": 12}')
    records = folder.write("orders.jsonl", "\n".join(lines))
    result = folder.match("--id", "order", publications=records)
    assert (result.exit_code, pairs(result.stdout)) == (1, [("7", "dear")])
    assert 'line 3: the record has no "order", which is to be its id\n' in result.stderr
    result = folder.match(publications=records)
    assert "with --id\n" in result.stderr


DOCUMENT_SUBSCRIPTIONS = """\
{"id": "heads", "xpath": "//body[headline]//p", "home": "r2"}
{"id": "dear", "filter": "price > 10"}
{"id": "named", "xpath": "/n:a", "namespaces": {"n": "urn:n"}}
{"id": "none", "filter": "price is null"}
"""
DOCUMENT_PUBLICATIONS = """\
{"id": "p1", "document": "<news><body><headline/><p>1</p></body></news>"}
{"id": "p2", "document": "<news><body><p/></body></news>", "attributes": {"price": 11}}
{"id": "p3", "document": "<a xmlns='urn:n'/>", "attributes": {}}
{"id": "p4", "document": "<a><b></a>"}
{"id": "p5", "document": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}
"""


@pytest.mark.parametrize("engines", [(), ("counting", "xtrie"), ("reference-xpath",)])
def test_match_takes_records_and_documents(folder: Folder, engines: tuple[str, ...]) -> None:
    wanted = folder.write("wanted.jsonl", DOCUMENT_SUBSCRIPTIONS)
    news = folder.write("news.jsonl", DOCUMENT_PUBLICATIONS)
    options = [part for name in engines for part in ("--engine", name)]
    result = folder.match(*options, subscriptions=wanted, publications=news)
    assert result.exit_code == 1
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["publication"], one["subscription"]) for one in found] == [
        ("p1", "heads"),
        ("p2", "dear"),
        ("p3", "named"),
        ("p3", "none"),
    ]
    reasons = [reason for _, _, reason in rejected(news + ".rejected")]
    assert len(reasons) == 2
    assert "line 1, column" in reasons[0]
    assert "DOCTYPE" in reasons[1]


def test_match_refuses_two_engines_of_a_kind(folder: Folder) -> None:
    result = folder.match("--engine", "counting", "--engine", "columnar")
    assert result.exit_code == 2
    assert "two engines for records, counting and columnar" in result.stderr


def test_match_gives_its_summary_as_json_on_standard_error_beside_deliveries(
    folder: Folder,
) -> None:
    result = folder.match("--json")
    assert pairs(result.stdout) == DELIVERIES
    summary = json.loads(result.stderr)
    assert summary["deliveries"] == 4
    assert summary["rejected_file"] is None


def test_match_strictly_fails_at_the_first_bad_line_and_leaves_everything_as_it_was(
    folder: Folder,
) -> None:
    subscriptions = folder.write("subs.jsonl", BAD_SUBSCRIPTIONS)
    out = folder.write("out.jsonl", "old")
    result = folder.match("--out", out, "--strict")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"sapwood: {subscriptions}, line 2: filter: expected")
    assert Path(out).read_text(encoding="utf-8") == "old"
    assert folder.names() == {"subs.jsonl", "pubs.jsonl", "out.jsonl"}


def test_match_strictly_does_good_files(folder: Folder) -> None:
    result = folder.match("--strict")
    assert result.exit_code == 0
    assert pairs(result.stdout) == DELIVERIES


def test_match_puts_rejected_lines_where_it_is_told(folder: Folder) -> None:
    folder.write("subs.jsonl", BAD_SUBSCRIPTIONS)
    aside = folder.file("aside.jsonl")
    assert folder.match("--rejected", aside).exit_code == 1
    assert len(rejected(aside)) == 5
    assert folder.names() == {"subs.jsonl", "pubs.jsonl", "aside.jsonl"}


@pytest.mark.parametrize("option", ["--subscriptions", "--publications"])
def test_match_says_which_file_is_not_there(folder: Folder, option: str) -> None:
    result = folder.match(**{option.removeprefix("--"): folder.file("none.jsonl")})
    assert result.exit_code == 2
    assert option in result.stderr
    assert "none.jsonl" in result.stderr


def test_match_says_that_an_engine_does_not_exist(folder: Folder) -> None:
    result = folder.match("--engine", "colunmar")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "sapwood: no engine is called 'colunmar'; did you mean 'columnar'?"
    )


def test_match_refuses_to_read_both_files_from_standard_input(folder: Folder) -> None:
    result = folder.match(stdin="", subscriptions="-", publications="-")
    assert result.exit_code == 2
    assert "only one of the two files can be standard input" in result.stderr


def test_match_removes_what_an_earlier_run_rejected_when_all_is_good(folder: Folder) -> None:
    for arguments in ((), ("--strict",)):
        folder.write("pubs.jsonl.rejected", "old")
        assert folder.match(*arguments).exit_code == 0
        assert folder.names() == {"subs.jsonl", "pubs.jsonl"}


def test_match_says_that_the_deliveries_cannot_be_written(folder: Folder) -> None:
    result = folder.match("--out", folder.file("none/out.jsonl"))
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


def test_match_ends_quietly_when_its_reader_goes_away(folder: Folder) -> None:
    lines = "".join(f'{{"id":"{i}","attributes":{{"price":1}}}}\n' for i in range(20_000))
    command = [sys.executable, "-m", "sapwood", "match", "--engine", "counting"]
    command += ["--subscriptions", folder.file("subs.jsonl")]
    command += ["--publications", folder.write("many.jsonl", lines)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert json.loads(first) == {"publication": "0", "subscription": "any"}
    assert (process.returncode, said) == (141, b"")


def test_match_writes_the_same_bytes_as_when_each_line_is_looked_at_closely(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [*BAD_PUBLICATIONS.splitlines(), '{"id": "p7", "attributes": {"price": 1, "price": 2}}']
    lines = [
        odd[number % len(odd)]
        if number % 50 == 49
        else json.dumps({"id": f"p{number}", "attributes": {"price": number, "note": "a : b"}})
        for number in range(2_000)
    ]
    pubs = folder.write("many.jsonl", "\n".join(lines))
    told: list[tuple[bytes, bytes, str]] = []
    for name in ("quick", "close"):
        out = folder.file(name)
        found = folder.match("--out", out, "--rejected", f"{out}.bad", publications=pubs)
        files = Path(out).read_bytes(), Path(f"{out}.bad").read_bytes()
        told.append((*files, found.stderr.replace(name, "")))
        monkeypatch.setattr("sapwood.files.lines.decode_flat_line", lambda _: None)
        monkeypatch.setattr(
            "sapwood.files.reading.decode_flat_lines", lambda given: [None] * len(given)
        )
    assert told[0] == told[1]
    assert told[0][0].count(b"\n") > 2_000
    assert told[0][1].count(b"\n") > 20


NEVER = SUBSCRIPTIONS + '{"id": "never", "filter": "price < 1 and price > 2"}\n'


def test_match_says_which_subscriptions_can_never_match(folder: Folder) -> None:
    result = folder.match(subscriptions=folder.write("never.jsonl", NEVER))
    assert result.exit_code == 0
    assert pairs(result.stdout) == DELIVERIES
    first, why, _ = result.stderr.splitlines()
    assert first == "1 subscription can never match:"
    assert why == "  line 4: price < 1 and price > 2 exclude each other"


def test_match_strictly_fails_at_a_subscription_that_can_never_match(folder: Folder) -> None:
    result = folder.match("--strict", subscriptions=folder.write("never.jsonl", NEVER))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "line 4: can never match: price < 1 and price > 2 exclude each other" in result.stderr

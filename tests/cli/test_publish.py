"""`sapwood publish`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.cli.publish import REFUSALS_SHOWN, Summary
from sapwood.client import Published, RefusedPublication
from sapwood.client.blocking import connect
from sapwood.files import Counts
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.testing.overlay import BrokerProcesses
from tests.broker.helpers import broker_in_a_thread
from tests.client.helpers import free_address
from tests.forked import forked_brokers
from tests.patience import PATIENCE_S

__all__ = ("forked_brokers",)

GOOD = (
    '{"id": "p1", "attributes": {"a": 1}}',
    '{"id": "p2", "attributes": {"a": 2, "tags": [1]}, "home": "r7"}',
    '{"id": "p3", "attributes": {"a": 3}}',
)


@pytest.fixture
def address() -> Iterator[str]:
    with broker_in_a_thread() as address:
        yield address


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "publications.jsonl"


def rows(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


def publish(address: str, *arguments: object, stdin: str | None = None) -> Result:
    arguments = ("publish", "--broker", address, *map(str, arguments))
    return CliRunner().invoke(main, [str(one) for one in arguments], input=stdin)


def test_a_file_is_published_in_its_order(address: str, file: Path) -> None:
    file.write_text("\n".join(GOOD), encoding="utf-8")
    with connect(address) as client:
        wanted = client.subscribe("exists a")
        result = publish(address, file)
        assert [next(wanted).id for _ in GOOD] == ["p1", "p2", "p3"]
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == "3 publications accepted\n"
    assert not file.with_name("publications.jsonl.rejected").exists()


def test_what_is_advertised_is_in_force_before_publications_are_sent(
    address: str, file: Path
) -> None:
    file.write_text("\n".join(GOOD), encoding="utf-8")
    result = publish(address, file, "--advertise", "a = 1", "--advertise", "a = 3", "--json")
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert summary["accepted"] == 2
    (refused,) = summary["refused"]
    assert refused["id"] == "p2"
    assert "none of the client's advertisements accepts" in refused["reason"]
    assert rows(summary["rejected_file"]) == [
        {
            "file": str(file),
            "line": 2,
            "reason": f"refused by the broker: {refused['reason']}",
            "text": GOOD[1],
        }
    ]


def test_a_payload_from_a_file_goes_with_every_line_that_has_none(
    address: str, file: Path, tmp_path: Path
) -> None:
    own = '{"id": "p4", "attributes": {"a": 4}, "payload": "/wA="}'
    file.write_text("\n".join([GOOD[0], own]), encoding="utf-8")
    payload = tmp_path / "payload"
    payload.write_bytes(b"\xc1\xff")
    with connect(address) as client:
        wanted = client.subscribe("a >= 1")
        assert publish(address, file, "--payload-file", payload).exit_code == 0
        some = [one for _ in range(2) for one in wanted.take(1, PATIENCE_S)]
    got = {one.id: one.payload for one in some}
    assert got == {"p1": b"\xc1\xff", "p4": b"\xff\x00"}
    refused = publish(address, file, "--payload-file", payload, "--blind", "--json")
    assert "no publication can be blind" in json.loads(refused.stdout)["refused"][0]["reason"]


@pytest.mark.long
def test_refused_and_bad_lines_stand_in_one_file(address: str, file: Path) -> None:
    """More lines are refused than can be unanswered at a time, between some that cannot be read."""
    count = UNACKNOWLEDGED_MAX + 1000
    lines = [json.dumps({"id": f"p{n}", "attributes": {"a": n % 3}}) for n in range(count)]
    lines[7::500] = ["{bad"] * len(lines[7::500])
    file.write_text("\n".join(lines), encoding="utf-8")
    result = publish(address, file, "--advertise", "a = 1")
    assert result.exit_code == 1
    aside = rows(f"{file}.rejected")
    kept = {n for n in range(count) if lines[n] != "{bad" and n % 3 == 1}
    assert sorted(row["line"] for row in aside) == [n + 1 for n in range(count) if n not in kept]
    assert all(row["text"] == lines[row["line"] - 1] for row in aside)
    assert f"{len(aside):,} lines rejected: see {file}.rejected" in result.stderr


def test_strict_fails_at_the_first_refusal(address: str, file: Path) -> None:
    file.write_text("\n".join(GOOD), encoding="utf-8")
    result = publish(address, file, "--advertise", "a = 1", "--strict")
    assert result.exit_code == 2
    assert f"{file}, line 2: refused by the broker: none of the client's" in result.stderr


@pytest.mark.parametrize("lines", [GOOD, (*GOOD, "{bad")])
def test_lines_of_standard_input_take_the_place_of_no_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("publications.jsonl.rejected", "publications.jsonl.rejected.2")
    for name in names:
        Path(name).write_text("precious", encoding="utf-8")
    result = publish(address, "--json", stdin="\n".join(lines))
    assert [Path(name).read_text(encoding="utf-8") for name in names] == ["precious"] * 2
    aside = json.loads(result.stdout)["rejected_file"]
    if lines == GOOD:
        assert (aside, len(list(tmp_path.iterdir()))) == (None, 2)
    else:
        assert aside == "publications.jsonl.rejected.3"
        assert [row["text"] for row in rows(aside)] == ["{bad"]


def test_documents_are_held_to_the_paths_of_a_dtd(address: str, file: Path, tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text("<!ELEMENT a (b*, c?)><!ELEMENT b (b*)><!ELEMENT c EMPTY>", encoding="utf-8")
    documents = ("<a><b><b/></b><c/></a>", "<a><c><b/></c></a>", "<a/>")
    lines = [
        json.dumps({"id": f"p{number}", "document": one}) for number, one in enumerate(documents)
    ]
    lines.append(json.dumps({"id": "record", "attributes": {"x": 1}}))
    file.write_text("\n".join(lines), encoding="utf-8")
    result = publish(
        address, file, "--advertise-dtd", str(dtd), "--advertise-xpath", "/x", "--json"
    )
    assert result.exit_code == 1
    assert [one["id"] for one in json.loads(result.stdout)["refused"]] == ["p1", "record"]


def test_what_cannot_be_advertised_ends_the_command(address: str, file: Path) -> None:
    file.write_text("\n".join(GOOD), encoding="utf-8")
    result = publish(address, file, "--advertise", "a =")
    assert result.exit_code == 2
    assert "at position" in result.output


def test_records_by_themselves_are_published_with_their_ids(address: str, file: Path) -> None:
    file.write_text('{"order": 7, "a": 1}\n{"a": 2}\n', encoding="utf-8")
    with connect(address) as client:
        wanted = client.subscribe("exists a")
        result = publish(address, file, "--id", "order")
        delivery = next(wanted)
    assert (delivery.id, delivery.attributes) == ("7", {"a": 1})
    assert result.exit_code == 1
    reason = f'{file}, line 2: the record has no "order", which is to be its id'
    assert result.stderr.splitlines()[-1] == f"rejected first: {reason}"


def test_a_bad_line_is_set_aside_and_the_rest_is_published(address: str, file: Path) -> None:
    too_long = json.dumps({"id": "x" * 1000, "attributes": {}})
    file.write_text("\n".join((GOOD[0], "", "{bad", too_long, GOOD[2])), encoding="utf-8")
    result = publish(address, file, "--json")
    assert result.exit_code == 1
    aside = f"{file}.rejected"
    assert json.loads(result.stdout) == {
        "read": 4,
        "good": 2,
        "rejected": 2,
        "accepted": 2,
        "refused": [],
        "rejected_file": aside,
    }
    first, second = rows(aside)
    assert [(row["line"], row["text"]) for row in (first, second)] == [(3, "{bad"), (4, too_long)]
    assert "ID_CHARS_MAX" in second["reason"]


def test_rejected_lines_go_where_they_are_wanted(address: str, file: Path, tmp_path: Path) -> None:
    file.write_text("{bad\n", encoding="utf-8")
    aside = tmp_path / "elsewhere.jsonl"
    result = publish(address, file, "--rejected", aside)
    assert result.exit_code == 1
    assert f"1 line rejected: see {aside}" in result.stderr
    assert aside.exists()


def test_strict_fails_at_the_first_bad_line(address: str, file: Path) -> None:
    file.write_text("\n".join((GOOD[0], "{bad", GOOD[2])), encoding="utf-8")
    result = publish(address, file, "--strict")
    assert result.exit_code == 2
    assert f"{file}, line 2: " in result.stderr
    assert result.stdout == ""


def test_standard_input_is_published(address: str) -> None:
    result = publish(address, "--json", stdin="\n".join(GOOD))
    assert (result.exit_code, json.loads(result.stdout)["accepted"]) == (0, 3)


def test_a_broker_that_is_not_there_ends_with_one_clear_line(file: Path) -> None:
    file.write_text(GOOD[0], encoding="utf-8")
    address = str(free_address())
    result = publish(address, file)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"sapwood: cannot connect to {address}: ")
    assert line.endswith(f"Start one with: sapwood broker --listen {address}")


def test_the_summary_lists_what_the_broker_refused_but_not_without_end() -> None:
    refused = tuple(RefusedPublication(f"p{n}", "no") for n in range(REFUSALS_SHOWN + 5))
    summary = Summary(Counts(read=20, good=20), Published(5, refused), "aside")
    assert summary.incomplete
    lines = summary.text().splitlines()
    assert lines[0] == "5 publications accepted"
    assert lines[1] == "'p0' refused by the broker: no"
    assert lines[-2:] == ["5 more refused by the broker", "15 lines rejected: see aside"]
    assert len(lines) == REFUSALS_SHOWN + 3
    assert summary.members()["refused"][0] == {"id": "p0", "reason": "no"}


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_lines_that_come_slowly_are_published_as_they_come() -> None:
    with BrokerProcesses(("r1",), ()) as overlay:
        address = overlay.addresses["r1"]
        with (
            connect(address) as client,
            subprocess.Popen(
                (sys.executable, "-m", "sapwood", "publish", "--broker", address, "--json"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            ) as publisher,
        ):
            wanted = client.subscribe("exists a")
            assert publisher.stdin is not None
            for number, line in enumerate(GOOD, start=1):
                publisher.stdin.write(f"{line}\n")
                publisher.stdin.flush()
                # The next line is written only when this one has been delivered.
                assert next(wanted).attributes["a"] == number
            out, _ = publisher.communicate(timeout=PATIENCE_S)
        assert (publisher.returncode, json.loads(out)["accepted"]) == (0, 3)

"""`sapwood explain --filter`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.client import connect
from sapwood.client.blocking import connect as blocking
from sapwood.limits import explaining as limits
from tests.broker.helpers import broker_in_a_thread, running, settings

SUBSCRIPTIONS = """\
{"id": "s1", "filter": "price > 10"}
{"id": "s2", "filter": "price > 5 or symbol = 'IBM'"}
{"id": "s3", "filter": "price > 12"}
{"id": "news", "xpath": "//body//p"}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


@pytest.fixture
def subscriptions(tmp_path: Path) -> str:
    path = tmp_path / "subs.jsonl"
    path.write_text(SUBSCRIPTIONS, encoding="utf-8")
    return str(path)


def test_a_person_is_told_what_covers_a_filter_and_what_it_costs(subscriptions: str) -> None:
    result = run("--filter", "price > 12 and name like '%x_%'", "--subscriptions", subscriptions)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        "filter: name like '%x_%' and price > 12",
        "1 conjunction, predicates: 1 by pattern, 1 by range",
    ]
    assert "    found by a range (interval): price > 12; a guess: " in result.stdout
    assert lines[-5:] == [
        "    searched for in each of these texts: name like '%x_%'",
        f"covered by 3 of 4 subscriptions of {subscriptions}",
        "  s1: price > 10",
        "  s2: price > 5 or symbol = 'IBM'",
        "  s3: price > 12",
    ]


def test_a_program_is_told_the_same(subscriptions: str) -> None:
    asked = ("--filter", "price > 12", "--subscriptions", subscriptions, "--json")
    found = json.loads(run(*asked).stdout)
    assert (found["of"], found["predicates"], found["journal"]) == (4, {"range": 1}, None)
    assert [(one["name"], one["equal"]) for one in found["covers"]] == [
        ("s1", False),
        ("s2", False),
        ("s3", True),
    ]
    assert [one["way"] for one in found["conjunctions"]] == ["interval"]


def test_documents_and_what_can_never_match_are_explained_too(subscriptions: str) -> None:
    paths = run("--filter", "//body//p[@x='1']", "--xpath", "--subscriptions", subscriptions)
    assert "found by a value (hash): //body//p[@x='1']\n" in paths.stdout
    assert "covered by 1 of 4 subscriptions" in paths.stdout
    never = run("--filter", "a > 1 and a < 0")
    assert "it can never match: " in never.stdout
    assert "covered" not in never.stdout
    apart = run("--filter", "volume > 1", "--subscriptions", subscriptions)
    assert f"covered by no subscription of {subscriptions}\n" in apart.stdout


def test_a_line_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    path = tmp_path / "subs.jsonl"
    path.write_text('no JSON\n{"id": "s1", "filter": "a > 1"}\n', encoding="utf-8")
    result = run("--filter", "a > 2", "--subscriptions", str(path))
    assert result.exit_code == 1
    assert "covered by 1 of 1 subscriptions" in result.stdout
    assert "1 line left out: line 1 cannot be used" in result.stderr


@pytest.mark.network
def test_a_journal_says_how_often_a_filter_has_matched(tmp_path: Path) -> None:
    async def publish() -> None:
        async with (
            running(settings("hub", data=tmp_path / "data")) as broker,
            connect(str(broker.address)) as client,
        ):
            for number in range(7):
                await client.publish({"a": number})
            await client.flush()

    asyncio.run(publish())
    for folder in (tmp_path / "data", tmp_path / "data" / "journal"):
        result = run("--filter", "a > 3", "--journal", str(folder))
        assert result.exit_code == 0, result.output
        assert "it has matched 3 of 7 publications in " in result.stdout
        assert result.stdout.endswith("journal\n")
    found = json.loads(run("--filter", "b = 1", "--journal", str(folder), "--json").stdout)
    assert found["journal"] == {"matched": 0, "kept": 7}
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "there is no journal" in run("--filter", "a > 3", "--journal", str(empty)).stderr


@pytest.mark.network
def test_a_broker_says_what_covers_a_filter_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.explaining.EXPLAINED_COVERS_MAX", 7)
    assert limits.EXPLAINED_NAMED_MAX == 8
    with (
        broker_in_a_thread(name="hub") as address,
        blocking(address, name="desk") as client,
    ):
        client.subscribe_many([f"a > {n}" for n in range(40)])
        found = json.loads(run("--filter", "a > 20", "--broker", address, "--json").stdout)
        assert found["source"] == "hub"
        assert sorted(one["filter"] for one in found["covers"]) == sorted(
            f"a > {n}" for n in range(21)
        )
        assert [one["equal"] for one in found["covers"]].count(True) == 1
        told = run("--filter", "a > 20", "--broker", address)
        assert "covered by 21 subscriptions of hub\n" in told.stdout
        assert "  and 13 more; --json lists them\n" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--filter", "a = 1", "--publication", "{}"), "--filter goes with"),
        (("--filter", "a = 1", "--broker", "h:1", "--subscriptions", "-"), "--filter goes with"),
        (("--filter", "a = "), "'--filter'"),
        (("--filter", "a", "--namespace", "n=urn:n"), "add --xpath"),
        (("--journal", "."), "--journal is for a --filter"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr

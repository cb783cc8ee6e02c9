"""The catalogue of dialects, and the ways in which they come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.errors import InputError, UnknownNameError
from sapwood.files import decode_subscription, encode_subscription
from sapwood.files.lines import split_subscription
from sapwood.language import parse_filter
from sapwood.language.dialects import DIALECTS
from sapwood.language.written import given_interest
from sapwood.pipeline.tables.decoding import form_of

EXAMPLES = {
    "sapwood": "price between 20 and 30",
    "cesql": "price >= 20 AND price <= 30",
    "jms": "price BETWEEN 20 AND 30",
    "sns": '{"price": [{"numeric": [">=", 20, "<=", 30]}]}',
    "eventbridge": '{"price": [{"numeric": [">=", 20, "<=", 30]}]}',
}
WANTED = parse_filter("price between 20 and 30")
WITH_CASTS = parse_filter(f"{WANTED} or integer(price) between 20 and 30")
"""The same range in CloudEvents SQL, which reads texts as integers."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def line(**members: Any) -> bytes:
    return json.dumps({"id": "s1", **members}).encode()


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_leads_to_one_normal_form(name: str) -> None:
    text, wanted = EXAMPLES[name], WITH_CASTS if name == "cesql" else WANTED
    assert parse_filter(text, dialect=name) == wanted
    assert given_interest(text, name) == wanted
    assert decode_subscription(line(filter=text, dialect=name)).filter == wanted
    assert decode_subscription(line(filter=text), name).filter == wanted
    split = split_subscription(line(filter=text, dialect=name))
    assert form_of(split.interest) == form_of(split_subscription(line(filter=str(wanted))).interest)


@pytest.mark.parametrize("name", [one for one in DIALECTS if DIALECTS[one].is_json])
def test_a_pattern_may_stand_in_a_line_as_an_object(name: str) -> None:
    given = line(filter=json.loads(EXAMPLES[name]), dialect=name)
    assert decode_subscription(given).filter == WANTED


def test_a_line_names_its_own_dialect_before_that_of_the_file() -> None:
    given = line(filter=EXAMPLES["sapwood"] + " or exists b", dialect="sapwood")
    assert decode_subscription(given, "sns").filter == parse_filter(f"{WANTED} or exists b")
    assert decode_subscription(line(xpath="//a"), "sns").filter.source == "//a"


def test_what_came_in_a_dialect_is_written_in_the_language_of_the_house() -> None:
    written = encode_subscription(decode_subscription(line(filter=EXAMPLES["jms"], dialect="jms")))
    assert json.loads(written) == {"id": "s1", "filter": "price between 20 and 30"}


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"filter": "a", "dialect": "sql"},
            "no dialect is called 'sql'; did you mean 'cesql'?",
        ),
        ({"filter": "a", "dialect": 5}, "the name of the one that"),
        ({"xpath": "//a", "dialect": "jms"}, "the name of the one that"),
        ({"filter": {"a": ["b"]}, "dialect": "jms"}, "write it as text"),
        ({"filter": {"a": ["b"]}}, "write it as text"),
        ({"filter": "a = b", "dialect": "jms"}, "filter: a filter compares attributes"),
    ],
)
def test_a_line_whose_dialect_cannot_be_used_is_refused(
    members: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as caught:
        decode_subscription(line(**members))
    assert reason in str(caught.value)


def test_a_dialect_that_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="known: sapwood, cesql"):
        parse_filter("a", dialect="sql")


def test_a_filter_in_a_dialect_is_a_text() -> None:
    with pytest.raises(InputError, match="is a text"):
        parse_filter(5, dialect="jms")  # type: ignore[arg-type]


def test_covers_compares_filters_of_a_dialect() -> None:
    result = run("covers", "--json", "--dialect", "jms", "price > 10", EXAMPLES["jms"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["a_covers_b"] is True
    result = run("covers", "--dialect", "jms", "a = b", "a")
    assert result.exit_code == 2
    assert "compares attributes with constants only, at position 5" in result.output
    assert run("covers", "--dialect", "jms", "--xpath", "//a", "//b").exit_code == 2


def test_explain_explains_a_filter_of_a_dialect() -> None:
    given = ("--subscription", '{"store": ["a", "b"]}', "--publication", '{"store": "c"}')
    result = run("explain", "--dialect", "sns", *given)
    assert result.exit_code == 0, result.output
    assert "store in ('a', 'b')" in result.stdout
    result = run("explain", "--dialect", "sns", "--filter", '{"store": [null]}')
    assert "store[0]: null cannot be told from absent" in result.output
    assert run("explain", "--dialect", "sns", "--xpath", "--filter", "//a").exit_code == 2


def test_match_takes_a_file_in_a_dialect(tmp_path: Path) -> None:
    subscriptions, publications = tmp_path / "s.jsonl", tmp_path / "p.jsonl"
    other = json.dumps({"id": "s2", "filter": {"price": [25]}, "dialect": "sns"})
    bad = json.dumps({"id": "s3", "filter": "a = b"})
    subscriptions.write_bytes(line(filter=EXAMPLES["jms"]) + f"\n{other}\n{bad}\n".encode())
    publications.write_text('{"id": "p1", "attributes": {"price": 25}}\n')
    files = ("--subscriptions", str(subscriptions), "--publications", str(publications))
    result = run("match", "--dialect", "jms", *files)
    assert result.exit_code == 1
    assert [json.loads(one)["subscription"] for one in result.stdout.splitlines()] == ["s1", "s2"]
    assert "at position 5" in (tmp_path / "p.jsonl.rejected").read_text()
    result = run("match", "--dialect", "sql", *files)
    assert result.exit_code == 2
    assert "no dialect is called 'sql'" in result.stderr


def test_subscribe_refuses_what_its_dialect_cannot_say() -> None:
    result = run("subscribe", "--dialect", "jms", "a = b")
    assert result.exit_code == 2
    assert "compares attributes with constants only" in result.stderr
    assert run("subscribe", "--dialect", "jms", "--xpath", "//a").exit_code == 2

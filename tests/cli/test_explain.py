"""`sapwood explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.language.explanation_words import WAYS_SHOWN_MAX

SUBSCRIPTIONS = """\
{"id": "cheap", "filter": "price < 50"}
this is no JSON
{"id": "news", "xpath": "//body[@lang = 'en']//p"}
"""
PUBLICATIONS = """\
{"id": "p1", "attributes": {"price": 60}}
{"id": "p2", "document": "<news><body lang='de'><p/></body></news>"}
"""


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], input=stdin)


def given(publication: str, subscription: str, *more: str) -> Result:
    return run("--publication", publication, "--subscription", subscription, *more)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    for name, text in (("subs.jsonl", SUBSCRIPTIONS), ("pubs.jsonl", PUBLICATIONS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    subscriptions, publications = tmp_path / "subs.jsonl", tmp_path / "pubs.jsonl"
    return ("--subscriptions", str(subscriptions), "--publications", str(publications))


def test_a_record_that_fails_is_explained_by_each_predicate_that_fails() -> None:
    result = given('{"price": 5, "symbol": "IBM"}', "price > 10 and symbol = 'IBM' or venue = 'X'")
    assert result.exit_code == 0
    assert result.stdout == (
        "the publication does not match the subscription\n"
        "  fails: price > 10 and symbol = 'IBM'\n"
        "    price > 10: 5\n"
        "  fails: venue = 'X'\n"
        "    venue = 'X': absent\n"
    )


def test_a_record_that_matches_is_explained_by_the_conjunction_that_holds() -> None:
    result = given('{"price": 5}', "price < 10 or symbol = 'IBM'")
    assert result.stdout == "the publication matches the subscription\n  holds: price < 10\n"


def test_a_filter_that_can_never_match_is_said_to_be_so() -> None:
    result = given('{"price": 5}', "price > 10 and price < 5")
    assert result.stdout == (
        "the publication does not match the subscription\n"
        "it can never match: price > 10 and price < 5 exclude each other\n"
    )


def test_a_document_is_explained_with_its_places() -> None:
    bound = ("--xpath", "--namespace", "n=urn:n")
    result = given("<a xmlns='urn:n'><b/></a>", "/n:a/n:c", *bound)
    assert result.stdout == (
        "the publication does not match the subscription\n"
        "  fails: /n1:a/n1:c\n"
        "    n1:c at /{urn:n}a: elements there: {urn:n}b\n"
    )


def test_lines_of_files_are_named_by_their_ids_whatever_other_lines_are(
    files: tuple[str, ...],
) -> None:
    found = given("p2", "news", *files)
    assert found.stdout == (
        "publication p2 does not match subscription news\n"
        "  fails: //body[@lang='en']//p\n"
        "    @lang='en' at /news/body: values there: 'de'\n"
    )
    assert "has no document" in given("p1", "news", *files).stdout
    assert "  fails: price < 50\n    price < 50: 60\n" in given("p1", "cheap", *files).stdout


def test_records_by_themselves_have_the_id_that_is_named() -> None:
    more = ("--publications", "-", "--id", "key")
    result = run("--publication", "7", "--subscription", "a = 1", *more, stdin='{"key": 7, "a": 1}')
    assert result.stdout == "publication 7 matches the subscription\n  holds: a = 1\n"


def test_an_id_that_no_line_has_is_an_error_with_the_first_line_that_cannot_be_used(
    files: tuple[str, ...],
) -> None:
    result = given("p1", "s9", *files)
    assert result.exit_code == 2
    assert "no line has the id 's9' (line 2 cannot be used: not JSON" in result.stderr
    assert "no line has the id 'p9'; give" in given("p9", "cheap", *files).stderr


def test_the_explanation_in_json_has_all_ways() -> None:
    count = WAYS_SHOWN_MAX + 2
    asked = " or ".join(f"a{at} = 1 and b{at} = 1" for at in range(count))
    shown = given("{}", asked)
    assert shown.stdout.count("  fails: ") == WAYS_SHOWN_MAX
    assert shown.stdout.endswith("2 conjunctions more, none of which holds; --json lists them\n")
    found = json.loads(given("{}", asked, "--json").stdout)
    assert len(found.pop("ways")) == count
    assert found.pop("filter")
    assert found == {
        "publication": "given",
        "subscription": "given",
        "matches": False,
        "note": None,
    }


def test_a_way_in_json_has_its_failures() -> None:
    found = json.loads(given("<a/>", "/a/b", "--xpath", "--json").stdout)
    failure = {"predicate": "b", "found": "no elements there", "place": "/a"}
    assert found["ways"] == [{"text": "/a/b", "failures": [failure]}]


@pytest.mark.parametrize(
    ("publication", "subscription", "more", "said"),
    [
        ('{"a": 1', "a = 1", (), "'--publication': not JSON"),
        ('{"a": 1, "a": 2}', "a = 1", (), "stands twice"),
        ("[]", "a = 1", (), "one JSON object"),
        ("<a>", "//a", ("--xpath",), "'--publication': document, line 1"),
        ("{}", "a = ", (), "'--subscription': "),
        ("{}", "//a[1]", ("--xpath",), "'--subscription': "),
        ("{}", "a", ("--namespace", "n=urn:n"), "add --xpath"),
        ("{}", "a", ("--id", "key"), "add --publications"),
        ("p", "s", ("--publications", "-", "--subscriptions", "-"), "only one of the two"),
        ("{}", "s", ("--subscriptions", "-", "--xpath"), "given as --subscription"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_the_reason(
    publication: str, subscription: str, more: tuple[str, ...], said: str
) -> None:
    result = given(publication, subscription, *more)
    assert result.exit_code == 2
    assert said in result.stderr

"""`sapwood covers`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.covers import Answer, covers, intersects
from sapwood.cli.main import main
from sapwood.language import parse_filter


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["covers", *arguments])


def answers(a: str, b: str) -> dict[str, Any]:
    result = run(a, b, "--json")
    assert result.exit_code == 0
    decoded: dict[str, Any] = json.loads(result.stdout)
    return decoded


def test_covers_prints_both_filters_and_all_three_answers() -> None:
    result = run("price > 10", "price > 20 and symbol = 'IBM'")
    assert result.exit_code == 0
    assert result.stdout == (
        "A: price > 10\n"
        "B: price > 20 and symbol = 'IBM'\n"
        "\n"
        "A covers B  yes\n"
        "B covers A  no\n"
        "intersect   yes\n"
    )


@pytest.mark.parametrize(
    ("a", "b", "a_covers_b", "b_covers_a", "meet"),
    [
        ("price > 10", "price > 10", True, True, True),
        ("price > 10", "price < 5", False, False, False),
        ("price > 10", "symbol = 'IBM'", False, False, True),
        ("price > 1 or price < 0", "price > 5", True, False, True),
        ("true", "false", True, False, False),
    ],
)
def test_covers_answers_in_json(
    a: str, b: str, *, a_covers_b: bool, b_covers_a: bool, meet: bool
) -> None:
    found = answers(a, b)
    assert found["a"] == str(parse_filter(a))
    assert found["b"] == str(parse_filter(b))
    assert found["a_covers_b"] is a_covers_b
    assert found["b_covers_a"] is b_covers_a
    assert found["intersects"] is meet
    assert set(found["proved"].values()) == {True}


def test_covers_marks_answers_that_are_not_proved() -> None:
    result = run("name like '%a%b%'", "name like '%b%a%'")
    assert "A covers B  no (?)\nB covers A  no (?)\nintersect   yes (?)\n" in result.stdout
    assert "not proved" in result.stdout


def test_covers_marks_nothing_that_general_patterns_leave_proved() -> None:
    a, b = parse_filter("name like '%a%b%'"), parse_filter("name like 'x%a%b'")
    assert covers(a, b) == Answer(holds=True, proved=True)
    assert covers(b, a) == Answer(holds=False, proved=False)
    assert intersects(a, parse_filter("name = 'x'")) == Answer(holds=False, proved=True)


def test_covers_marks_a_no_against_a_union_too_large_to_be_sure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    union = parse_filter("a > 0 and b > 0 or c > 0 and d > 0 or e > 0 and f > 0")
    other = parse_filter("exists g")
    assert covers(union, other) == Answer(holds=False, proved=True)
    monkeypatch.setattr("sapwood.cli.covers.COVERING_STEPS_MAX", 4)
    assert covers(union, other) == Answer(holds=False, proved=False)
    assert covers(other, other) == Answer(holds=True, proved=True)


@pytest.mark.parametrize(("a", "b", "which"), [("x =", "y", "'A'"), ("y", "x =", "'B'")])
def test_covers_names_the_filter_that_is_malformed_and_the_position(
    a: str, b: str, which: str
) -> None:
    result = run(a, b)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert which in result.stderr
    assert "at position 4" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("//p", "/nitf/body//p", ("yes", "no", "yes")),
        ("/a/b", "/c", ("no", "no", "no")),
        ("/a[b]/c", "/a/c", ("no", "yes", "yes")),
        ("/*[.//a][.//b]", "//c[.//a][.//b]", ("no (?)", "no (?)", "yes")),
        ("//a[.='1']", "//a[.='2']", ("no (?)", "no (?)", "yes (?)")),
    ],
)
def test_covers_compares_xpaths(a: str, b: str, expected: tuple[str, ...]) -> None:
    result = run(a, b, "--xpath")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert tuple(line[12:] for line in lines[3:6]) == expected
    assert (len(lines) > 6) == any("?" in answer for answer in expected)


def test_covers_compares_xpaths_with_namespaces() -> None:
    result = run("//p:a", "/q:a/b", "--xpath", "--namespace", "p=u", "--namespace", "q=u", "--json")
    assert json.loads(result.stdout)["a_covers_b"] is True
    refused = run("a", "b", "--namespace", "p=u")
    assert refused.exit_code == 2
    assert "add --xpath" in refused.stderr
    malformed = run("//a", "//b", "--xpath", "--namespace", "p")
    assert malformed.exit_code == 2
    assert "PREFIX=NAMESPACE" in malformed.stderr


def test_a_malformed_xpath_names_the_argument_and_the_position() -> None:
    result = run("//a", "//b[", "--xpath")
    assert result.exit_code == 2
    assert "'B'" in result.stderr
    assert "position" in result.stderr

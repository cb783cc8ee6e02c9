"""CloudEvents SQL, against its specification and its conformance files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.language import parse_filter
from tests.language.dialects import cesql_oracle as oracle

STEPS_MAX = 50_000
"""The most steps of an example: one that takes more is no better, and takes long."""


@given(oracle.expressions(), st.lists(oracle.events(), min_size=1, max_size=8))
def test_an_expression_lets_pass_what_its_specification_says(
    tree: oracle.Tree, events: list[dict[str, Any]]
) -> None:
    try:
        wanted = parse_filter(oracle.write(tree), dialect="cesql", steps_max=STEPS_MAX)
    except LimitError:
        reject()
    assert [wanted.accepts(one) for one in events] == [
        oracle.passes(tree, one) for one in events
    ], str(wanted)
    assert parse_filter(str(wanted)) == wanted


@pytest.mark.parametrize(
    ("expression", "filter_text"),
    [
        ("type = 'a'", "type in ('a')"),
        ("sequence = 5", "sequence = 5 or integer(sequence) = 5"),
        ("EXISTS Subject", "exists subject"),
        ("a = 'x' OR b = 'y'", "a = 'x' or exists a and b = 'y'"),
        ("a LIKE 'x\\_%'", "a like 'x!_%' escape '!'"),
        ("a LIKE 'x\\y'", "a = 'x\\y'"),
        ('a = "it\'s"', "a = 'it''s'"),
        ("a = 'it\\'s'", "a = 'it''s'"),
        ("LOWER(a) = 'ibm'", "lower(a) = 'ibm'"),
        ("(4 * 2 + 4 / 2) = 10", "true"),
        ("-7 / 2 = -3 AND -7 % 2 = -1", "true"),
        ("--'10' = 10", "true"),
        ("5 + TRUE = 6", "true"),
        ("1 / 0 = 1 OR TRUE", "false"),
        ("TRUE OR 1 / 0 = 1", "true"),
        ("mybool", "mybool"),
        ("NOT a = 'x'", "false"),
        ("2147483647 + 1 = 5", "false"),
        ("SUBSTRING('Sakila', -5, 3) = 'aki'", "true"),
        ("CONCAT_WS(',', 'a', 1, TRUE) = 'a,1,true'", "true"),
        ("LEFT('abc', -1) = 'abc'", "false"),
        ("ABS(-2147483648) = 2147483647", "false"),
        ("a = 99999999999999", None),
        ("'TRUE' = TRUE", "true"),
        ("TRUE = 'TRUE'", "false"),
        ("1 IN ('1', 'x')", "false"),
        ("x AND x AND x", "x = true or x <> 0 or lower(x) = 'true'"),
    ],
)
def test_an_expression_becomes_this_filter(expression: str, filter_text: str | None) -> None:
    if filter_text is None:
        with pytest.raises(FilterSyntaxError, match="32 bits"):
            parse_filter(expression, dialect="cesql")
    else:
        assert parse_filter(expression, dialect="cesql") == parse_filter(filter_text)


@pytest.mark.parametrize(
    ("expression", "position", "reason"),
    [
        ("", 0, "expected an attribute"),
        ("hop < ttl", 4, "constants only"),
        ("hop = ttl", 4, "constants only"),
        ("a + 1 = 2", 2, "cannot reckon"),
        ("-a = 2", 0, "cannot reckon"),
        ("a LIKE '1%'", 7, "the digits of integers"),
        ("a LIKE 5", 7, "a pattern in quotes"),
        ("a IN (b, 'x')", 6, "lists of constants"),
        ("a IN 'x'", 5, "expected ("),
        ("a IN ('x'", 9, "expected a comma"),
        ("a AND b OR c", 8, "bind alike"),
        ("LENGTH(a) = 3", 0, "cannot call LENGTH"),
        ("LOWER(a) = 3", 6, "LOWER of an attribute"),
        ("INT(a) LIKE 'x'", 4, "INT of an attribute"),
        ("NOSUCH(1) = 1", 0, "no function NOSUCH of 1"),
        ("CONCAT_WS() = ''", 0, "no function CONCAT_WS of 0"),
        ("ABC(", 4, "expected an attribute"),
        ("1 + 1", 0, "has to be a boolean"),
        ("INT(a)", 4, "has to be a boolean"),
        ("a NOT 5", 6, "like or in after not"),
        ("a_b = 1", 0, "letters and digits"),
        ("EXISTS 5", 7, "after exists"),
        ("a = 'x''y'", 4, "two quotes"),
        ("a = 'x", 4, "never closed"),
        ("a = 1 b", 6, "expected an operator"),
        ("(a = 1", 6, "closing parenthesis"),
        ("(a = 1) LIKE 'x'", 0, "like nothing"),
        ("(a = 1) IN (1)", 0, "in no list"),
        ("(a = 1) < 2", 8, "constants only"),
        ("+a = 1", 0, "expected an operand"),
    ],
)
def test_what_no_filter_says_is_refused_at_its_place(
    expression: str, position: int, reason: str
) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(expression, dialect="cesql")
    assert reason in caught.value.reason
    assert caught.value.position == position


@pytest.mark.parametrize(
    "expression", ["(" * 90 + "a" + ")" * 90, "not " * 90 + "a", " and ".join(["a = 1"] * 90)]
)
def test_an_expression_that_is_too_deep_is_refused(expression: str) -> None:
    with pytest.raises(LimitError, match="FILTER_NESTING_MAX"):
        parse_filter(expression, dialect="cesql")


def test_an_expression_whose_tree_doubles_is_refused_at_once() -> None:
    with pytest.raises(LimitError, match="NORMAL_FORM_STEPS_MAX"):
        parse_filter(" xor ".join(["a = 1"] * 40), dialect="cesql", steps_max=10_000)


def test_zeros_before_digits_are_no_digits() -> None:
    zeros = "0" * 5000
    assert str(parse_filter(f"'-{zeros}5' = -{zeros}5", dialect="cesql")) == "true"


@given(st.text("ab15_ .()=<>'%+-*/,\"\\", max_size=24) | st.text(max_size=8))
def test_any_text_is_an_expression_or_a_documented_error(text: str) -> None:
    with suppress(FilterSyntaxError, LimitError):
        parse_filter(text, dialect="cesql")


# The conformance files ----------------------------------------------------------------------------

FOLDER = "SAPWOOD_CESQL_TCK"
"""The folder `cesql/cesql_tck` of a checkout of cloudevents/spec."""

OUT_OF_SCOPE = frozenset(
    {
        "hop < ttl",
        "int(hop) < int(ttl) and int(hop) < 1000",
        "INT(hop) < INT(ttl) AND INT(hop) < 1000",
        "source IN (myext, 'abc')",
        "source IN (source)",
        'source IN (id, "http://localhost/source")',
        "source IN (id, 'xyz')",
        "missing * 5",
        "1 / missing",
        "missing / 0",
        "missing % 0",
        "-missing",
        "CONCAT_WS()",
    }
)
"""Expressions that compare two attributes or reckon with one, which no filter can, and one with a
function that there is not."""


def conformance() -> Iterator[Any]:
    """All cases of the files, or one that says why there are none."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        why = f"{FOLDER} names no folder with the conformance files of CloudEvents SQL"
        yield pytest.param({}, marks=pytest.mark.skip(reason=why))
        return
    yaml = pytest.importorskip("yaml")
    for path in sorted(Path(folder).glob("*.yaml")):
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
        typed = yaml.safe_load(path.read_text(encoding="utf-8"))
        for spelled, case in zip(content["tests"], typed["tests"], strict=True):
            case["expression"] = spelled["expression"]
            if not isinstance(case.get("result", ""), str | int):
                case["result"] = spelled["result"]
            for events in ("event", "eventOverrides"):  # a timestamp is a text
                if "time" in case.get(events, {}):
                    case[events]["time"] = spelled[events]["time"]
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


@pytest.mark.parametrize("case", list(conformance()))
def test_conformance_files_agree(case: dict[str, Any]) -> None:
    event = case.get("event")
    if event is None:
        required = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
        event = {**required, **case.get("eventOverrides", {})}
    expression, result = case["expression"], case.get("result")
    if expression in OUT_OF_SCOPE:
        with pytest.raises(FilterSyntaxError):
            parse_filter(expression, dialect="cesql")
        return
    if case.get("error") == "parse":
        with pytest.raises(FilterSyntaxError):
            parse_filter(expression, dialect="cesql")
        return
    if not isinstance(result, bool):  # that is no filter; compared with its value it is one
        expression = f"({expression}) = {_literal(result)}"
    passes = "error" not in case and result is not False
    assert parse_filter(expression, dialect="cesql").matches(event) is passes


def _literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\\\\", "\\")
    return str(value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a = 1\x1f", 5),
        ("a = 1 \x1f", 6),
        ("a \x85 = 1", 2),
        ("a = \u00a0", 4),
        ("a=1 \n\u2028", 5),
    ],
)
def test_a_space_that_is_none_here_is_refused_where_it_stands(text: str, place: int) -> None:
    """Found by `make fuzz-bytes`: it was passed over, and what came behind it was not there."""
    with pytest.raises(FilterSyntaxError, match="has no meaning here") as caught:
        parse_filter(text, dialect="cesql")
    assert caught.value.position == place

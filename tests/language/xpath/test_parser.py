"""The parser of XPath: its trees, and its refusals with their places and words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.language.xpath.bounds import XPathBounds
from sapwood.language.xpath.parser import parse
from sapwood.language.xpath.syntax import (
    And,
    AttributeStep,
    Compares,
    ElementStep,
    Exists,
    Or,
    Path,
    TextStep,
)
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import Axis, NameTest

CHILD, DESCENDANT = Axis.CHILD, Axis.DESCENDANT
A, B = NameTest("a"), NameTest("b")


def test_tree_holds_what_was_written() -> None:
    tree = parse("/a[b = 'x' and (@b or .//text() < 2)]//*[.]")
    predicate = And(
        (
            Compares(Path((ElementStep(CHILD, B),)), Comparison(Relation.EQUAL, "x")),
            Or(
                (
                    Exists(Path((AttributeStep(CHILD, B),))),
                    Compares(Path((TextStep(DESCENDANT),)), Comparison(Relation.LESS, 2.0)),
                )
            ),
        )
    )
    assert tree == Path(
        (
            ElementStep(CHILD, A, (predicate,)),
            ElementStep(DESCENDANT, None, (Exists(Path(())),)),
        )
    )


def test_relative_expression_starts_at_any_depth() -> None:
    assert parse("a/b") == parse("//a/b")


def test_words_of_operators_are_names_where_a_name_is_due() -> None:
    tree = parse("//and/or[div and mod or or]")
    assert [step.test for step in tree.steps if isinstance(step, ElementStep)] == [
        NameTest("and"),
        NameTest("or"),
    ]
    assert len(tree.steps) == 2


@pytest.mark.parametrize("name", ["body.content", "media-object", "_x", "é1", "a-1.b"])
def test_names_may_hold_dots_hyphens_and_letters_of_any_script(name: str) -> None:
    assert parse(f"/{name}").steps == (ElementStep(CHILD, NameTest(name)),)


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "empty"),
        ("a[1]", 2, "positions ([1])"),
        ("a[position() = 1]", 2, "the function position()"),
        ("a[last()]", 2, "the function last()"),
        ("a[not(b)]", 2, "the function not()"),
        ("count(a)", 0, "the function count()"),
        ("a[f:g(b)]", 2, "the function f:g()"),
        ("//node()", 2, "the function node()"),
        ("../a", 0, "the parent (..)"),
        ("a[../b]", 2, "the parent (..)"),
        ("a[b = $x]", 6, "variables ($x)"),
        ("$x", 0, "variables ($x)"),
        ("a/ancestor::b", 2, "the axis ancestor::"),
        ("child::a", 0, "the axis child::"),
        ("a[attribute::b]", 2, "the axis attribute::"),
        ("a|b", 1, "unions (|)"),
        ("a[b | c]", 4, "unions (|)"),
        ("a[b + 1 = 2]", 4, "arithmetic (+)"),
        ("a[b * 2 = 2]", 4, "arithmetic (*)"),
        ("a[b mod 2]", 4, "arithmetic (mod)"),
        ("a[b = -c]", 6, "arithmetic (-)"),
        ("a[@*]", 3, "(@*)"),
        ("p:*", 0, "(prefix:*)"),
        ("a[b = c]", 6, "comparing two paths"),
        ("a[b = @c]", 6, "comparing two paths"),
        ("a[1 = 1]", 6, "comparing two literals"),
        ("a[(b) = 1]", 2, "comparing a condition in parentheses"),
        ("a[b = 1 = 1]", 8, "two sides"),
        ("a['x']", 2, "a text alone"),
        ("a[b < 'x']", 6, "compares numbers"),
        ("a[/b]", 2, "absolute paths in predicates"),
        ("a[//b]", 2, "write .//a"),
        ("a and b", 2, "make two subscriptions"),
        ("a or b", 2, "make two subscriptions"),
        ("a = 5", 2, "between brackets"),
        ("(a)", 0, "parentheses"),
        ("./a", 0, "begins with"),
        ("a/./b", 2, "(.)"),
        ("a[.[b]]", 3, "predicates on ."),
        ("a[@b[c]]", 4, "predicates are supported on elements"),
        ("@x/a", 2, "nothing lies below an attribute"),
        ("text()/a", 6, "nothing lies below text()"),
        ("text(1)", 5, "takes nothing"),
        ("/@x", 0, "the document itself"),
        ("/text()", 0, "the document itself"),
        ("/", 1, "expected a name"),
        ("a//", 3, "expected a name"),
        ("a[", 2, "expected a name"),
        ("a[b", 3, "expected and, or, or ]"),
        ("a[(b]", 4, "expected and, or, or )"),
        ("a]", 1, "the end of the expression"),
        ("a b", 2, "the end of the expression"),
        ("a[@]", 3, "after @"),
        ("a[b = ]", 6, "expected a number"),
        ("a[b = 'x]", 6, "never closed"),
        ("a[!b]", 2, "negation"),
        ("a[b && c]", 4, "write and"),
        ("a#", 1, "'#'"),
        ("a[b = 1" + "0" * 400 + "]", 6, "too large"),
        ("p:a", 0, "the prefix p is not bound"),
        ("a[@p:b]", 3, "compare attributes by local name"),
        ("p:", 2, "after the prefix"),
        ("a[b = '\x01']", 7, "no XML document"),
    ],
)
def test_refusal_names_what_is_not_supported_and_where(
    text: str, position: int, words: str
) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    assert caught.value.position == position
    assert words in caught.value.reason


AXES = (
    *("ancestor", "ancestor-or-self", "attribute", "child", "descendant", "descendant-or-self"),
    *("following", "following-sibling", "namespace", "parent", "preceding", "preceding-sibling"),
    "self",
)
FUNCTIONS = (
    *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string"),
    *("concat", "starts-with", "contains", "substring-before", "substring-after", "substring"),
    *("string-length", "normalize-space", "translate", "boolean", "not", "true", "false"),
    *("lang", "number", "sum", "floor", "ceiling", "round"),
    *("node", "comment", "processing-instruction"),
)


@pytest.mark.parametrize("axis", AXES)
def test_every_axis_by_name_is_refused_wherever_a_step_may_be(axis: str) -> None:
    for text in (f"//a/{axis}::b", f"//a[{axis}::b]", f"//a[c = 1 and {axis}::*]"):
        with pytest.raises(FilterSyntaxError) as caught:
            parse(text)
        assert caught.value.position == text.index(axis)
        assert f"the axis {axis}::" in caught.value.reason


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_refused_wherever_one_may_be(function: str) -> None:
    for text in (f"//a[{function}(b)]", f"//a[b = {function}()]", f"//a[c]/{function}()"):
        with pytest.raises(FilterSyntaxError) as caught:
            parse(text)
        assert caught.value.position == text.index(function)
        assert f"the function {function}()" in caught.value.reason


def test_prefix_that_is_not_among_the_bound_ones_is_refused() -> None:
    with pytest.raises(FilterSyntaxError, match="q is not bound in namespaces"):
        parse("/p:a/q:b", {"p": "u"})


@pytest.mark.parametrize(
    ("namespaces", "reason"),
    [
        ({"": "u"}, "the empty prefix is bound, .* give 'u' a prefix and write it before each"),
        ({"p": "u", "²": "v"}, "the prefix '²' in namespaces is no name"),
        ({"p:q": "u"}, "the prefix 'p:q' in namespaces is no name"),
        ({1: "u"}, "texts by prefixes that are texts, not 1: 'u'"),
        ({"p": None}, "texts by prefixes that are texts, not 'p': None"),
        ("p=u", "a mapping of prefixes to namespaces, not str"),
    ],
)
def test_prefixes_that_no_expression_could_use_are_refused(namespaces: Any, reason: str) -> None:
    for text in ("//a", "//p:a"):
        with pytest.raises(InputError, match=reason):
            parse_xpath(text, namespaces)


@pytest.mark.parametrize("given", [b"/a", None, 5])
def test_expression_that_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match=f"an XPath is a text .*, not {type(given).__name__}"):
        parse(given)


@pytest.mark.parametrize("deep", ["a" + "[a" * 9 + "]" * 9, "a[" + "(" * 8 + "a" + ")" * 8 + "]"])
def test_nesting_is_bounded(deep: str) -> None:
    with pytest.raises(LimitError, match="XPATH_NESTING_MAX is 8"):
        parse(deep)
    assert len(parse(deep, bounds=XPathBounds(nesting=9)).steps) == 1


def test_length_is_bounded() -> None:
    assert len(parse("/" + "a" * 1023).steps) == 1
    with pytest.raises(LimitError, match="XPATH_TEXT_CHARS_MAX is 1024"):
        parse("/" + "a" * 1024)


@given(st.text("ab/[]()@.*='\"<>!|$:-1 andortx", max_size=30))
def test_parser_raises_input_errors_only(text: str) -> None:
    try:
        tree = parse(text)
    except InputError:
        return
    assert tree.steps

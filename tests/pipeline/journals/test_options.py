from __future__ import annotations

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FilterSyntaxError, InputError
from sapwood.pipeline.journals.options import SourceOptions


def test_options_are_read() -> None:
    options = SourceOptions.read({"broker": "a:1, b:2", "path": "c", "filter": "x > 1"})
    assert options.journals == ("a:1", "b:2", "c")
    assert options.interest == parse_filter("x > 1")
    assert (options.start_of("a:1", 5), options.end_of("a:1", 9)) == (5, 9)
    more = SourceOptions.read(
        {"broker": "a:1", "xpath": "//p", "start": '{"a:1":7}', "end": "8", "lines": "True"}
    )
    assert more.interest == parse_xpath("//p")
    assert (more.start_of("a:1", 5), more.start_of("b:2", 5), more.end_of("a:1", 9)) == (7, 5, 8)
    assert more.as_lines
    assert more.broker == "a:1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "name a broker"),
        ({"broker": "a", "filter": "x", "xpath": "x"}, "not both"),
        ({"broker": "a", "start": "soon"}, "option start is 'soon'"),
        ({"broker": "a", "end": "{"}, "option end is '{'"),
        ({"broker": "a", "maxRowsPerTrigger": "0"}, "option maxRowsPerTrigger is '0'"),
        ({"broker": "a", "publisher": "a/b"}, "option publisher is a name without a slash"),
        ({"broker": "a", "publisher": "x" * 101}, "of 100 characters at most"),
    ],
)
def test_a_bad_option_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        SourceOptions.read(given)
    assert said in str(refused.value)


def test_a_bad_filter_is_shown_with_its_place() -> None:
    with pytest.raises(FilterSyntaxError, match="option filter: expected") as refused:
        SourceOptions.read({"broker": "a", "filter": "x >"})
    assert refused.value.position == 3


def test_one_broker_publishes() -> None:
    with pytest.raises(InputError, match="through one broker"):
        _ = SourceOptions.read({"broker": "a:1,b:2"}).broker


def test_what_is_written_again_is_written_by_the_same_publisher() -> None:
    def publisher(**given: str) -> str:
        return SourceOptions.read({"broker": "a", **given}).publisher

    first = publisher(checkpointLocation="/data/checkpoint")
    assert first == publisher(checkpointLocation="/data/checkpoint")
    assert first != publisher(checkpointLocation="/data/another")
    assert publisher() != publisher()
    assert publisher(checkpointLocation="/data/checkpoint", publisher="orders") == "orders"

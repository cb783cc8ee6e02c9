"""The process beside a broker that works out normal forms."""

from __future__ import annotations

import sys

import pytest

from sapwood import parse_filter
from sapwood.broker.filter_process import FilterProcess
from sapwood.session.judging import Judge, Judgement
from sapwood.wire.messages import SubscribeRequest
from tests.broker.helpers import Story

LONG = " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(9))
REFUSED = " and ".join(f"(a{n}=1 or b{n}=1)" for n in range(11))


def judged(judge: Judge, text: str) -> Judgement:
    found = judge.judge(SubscribeRequest("s", text))
    return found if isinstance(found, Judgement) else found()


@pytest.mark.long
def test_filters_are_what_they_are_and_refusals_have_the_same_words() -> None:
    process = FilterProcess(Story().log)
    here, beside = Judge(), Judge(process.ask)
    try:
        for text in (LONG, REFUSED, LONG + " and x like '%a%b%'", "price > " + "(" * 5000):
            mine, its = judged(here, text), judged(beside, text)
            assert its.value == mine.value
            assert str(its.refusal) == str(mine.refusal)
            assert type(its.refusal) is type(mine.refusal) or len(text) > 1000
        assert judged(beside, LONG).value == parse_filter(LONG)
        assert beside.pieces == here.pieces + 1
    finally:
        process.close()


def test_a_process_that_was_killed_is_begun_again() -> None:
    process = FilterProcess(Story().log)
    try:
        first = process.ask(b"a > 1")
        assert first is not None
        assert process._process is not None
        process._process.kill()
        assert process.ask(b"a > 1") == first
    finally:
        process.close()
    assert process.ask(b"a > 1") is None


@pytest.mark.long
def test_without_the_process_filters_are_worked_out_in_the_broker() -> None:
    for command in (("/nowhere/at/all",), (sys.executable, "-c", "")):
        story = Story()
        process = FilterProcess(story.log, command)
        assert judged(Judge(process.ask), LONG).value == parse_filter(LONG)
        assert [entry["event"] for entry in story.entries] == ["filters are worked out here"]
        process.close()

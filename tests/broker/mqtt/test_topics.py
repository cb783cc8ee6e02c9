"""Topic filters as filters: against a matcher that follows the text of the standard (4.7)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapwood
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.topics import TopicFilter, is_topic
from sapwood.limits.mqtt import MQTT_LEVELS_MAX
from tests.examples import examples

LEVELS = st.sampled_from(["", "a", "b", "ab", "%", "_", "\\", "'", "$", "$a", "a b"])
TOPICS = st.lists(LEVELS, min_size=1, max_size=5).map("/".join)
FILTERS = st.tuples(
    st.lists(LEVELS | st.just("+"), max_size=4), st.sampled_from([["#"], ["+"], ["a"], []])
).map(lambda parts: "/".join([*parts[0], *parts[1]]) or "#")


def matches(topic_filter: list[str], topic: list[str]) -> bool:
    """By the letter: # is the parent and any number of levels below it, + is exactly one."""
    if not topic_filter:
        return not topic
    if topic_filter[0] == "#":
        return True
    if not topic:
        return False
    return topic_filter[0] in ("+", topic[0]) and matches(topic_filter[1:], topic[1:])


def expected(topic_filter: str, topic: str) -> bool:
    if topic_filter[0] in "+#" and topic[:1] == "$":
        return False
    return matches(topic_filter.split("/"), topic.split("/"))


@given(FILTERS, TOPICS)
@settings(max_examples=examples(150))
def test_a_topic_filter_is_the_filter_that_accepts_the_same_topics(
    topic_filter: str, topic: str
) -> None:
    parsed = TopicFilter.parse(topic_filter)
    wanted = expected(topic_filter, topic)
    assert parsed.accepts(topic) is wanted
    accepted = sapwood.parse_filter(parsed.text).matches({"topic": topic})
    assert accepted is wanted if parsed.is_exact else accepted or not wanted


@pytest.mark.parametrize(
    ("topic_filter", "topic"),
    [
        ("sport/tennis/player1/#", "sport/tennis/player1"),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking"),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"),
        ("sport/#", "sport"),
        ("sport/tennis/+", "sport/tennis/player1"),
        ("sport/+", "sport/"),
        ("+/+", "/finance"),
        ("/+", "/finance"),
        ("$SYS/#", "$SYS/a"),
        ("$SYS/monitor/+", "$SYS/monitor/Clients"),
        ("+/tennis/#", "sport/tennis/x"),
    ],
)
def test_examples_of_the_standard_match(topic_filter: str, topic: str) -> None:
    parsed = TopicFilter.parse(topic_filter)
    assert expected(topic_filter, topic)
    assert parsed.accepts(topic)
    assert sapwood.parse_filter(parsed.text).matches({"topic": topic})


@pytest.mark.parametrize(
    ("topic_filter", "topic"),
    [
        ("sport/tennis/+", "sport/tennis/player1/ranking"),
        ("sport/+", "sport"),
        ("+", "/finance"),
        ("#", "$SYS/a"),
        ("+/monitor/Clients", "$SYS/monitor/Clients"),
        ("ACCOUNTS", "Accounts"),
        ("/finance", "finance"),
    ],
)
def test_examples_of_the_standard_do_not_match(topic_filter: str, topic: str) -> None:
    parsed = TopicFilter.parse(topic_filter)
    assert not expected(topic_filter, topic)
    assert not parsed.accepts(topic)
    assert parsed.is_exact
    assert not sapwood.parse_filter(parsed.text).matches({"topic": topic})


@pytest.mark.parametrize("text", ["", "a#", "a/#/b", "#/a", "a+", "+a/b", "a/b+/c", "##"])
def test_what_is_no_topic_filter_is_refused(text: str) -> None:
    with pytest.raises(MqttError) as refused:
        TopicFilter.parse(text)
    assert refused.value.code is Reason.TOPIC_FILTER_INVALID


def test_shared_subscriptions_and_too_many_levels_are_refused() -> None:
    with pytest.raises(MqttError) as refused:
        TopicFilter.parse("$share/group/a")
    assert refused.value.code is Reason.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED
    longest = "/".join("a" * MQTT_LEVELS_MAX)
    TopicFilter.parse(longest)
    with pytest.raises(MqttError, match="MQTT_LEVELS_MAX"):
        TopicFilter.parse(longest + "/a")


def test_topics_are_what_a_publish_can_carry() -> None:
    assert all(map(is_topic, ("a", "/", "$a", " ", "é" * 32_767)))
    assert not any(map(is_topic, ("", "a/+", "#", "a\0b", "é" * 32_768)))
    assert sapwood.parse_filter(TopicFilter.parse("#").text).matches({}) is False

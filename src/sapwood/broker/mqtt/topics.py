"""Topic names and topic filters (MQTT 5, section 4.7), and the filters that they become here.

A topic is the text attribute `topic`. In the filter language `+` is a run of characters, `%`, and
the absence of a `/` in it follows from the number of `/` in a topic: `a/+/c` is

   topic like 'a/%/c' and topic not like '%/%/%/%'

since a topic that fits the first has at least two `/`, and one without a third has none in the run.
That is not possible where `#` follows a level that is no wildcard behind a `+`, as in `+/b/#`: no
number of `/` shows how many are before `b`. The filter of these accepts more, and the listener
compares the topic once more before it delivers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.mqtt.writing import TEXT_BYTES_MAX
from sapwood.limits.mqtt import MQTT_LEVELS_MAX

TOPIC: Final = "topic"
"""The attribute that holds the topic."""

_SHARED: Final = "$share/"
_OF_SERVERS: Final = "$"


def is_topic(text: str) -> bool:
    """True if a text is a topic name, which a PUBLISH can carry (4.7.1, 4.7.3)."""
    if not text or "+" in text or "#" in text or "\0" in text:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= TEXT_BYTES_MAX


@dataclass(frozen=True, slots=True)
class TopicFilter:
    """A topic filter as `given`; `text` is the filter that accepts what it matches, and no less."""

    given: str
    text: str
    #: and no more either
    is_exact: bool

    @classmethod
    def parse(cls, text: str) -> TopicFilter:
        """Parse a topic filter. Raises `MqttError` for an invalid or unsupported one."""
        if text.startswith(_SHARED):
            raise MqttError(
                Reason.SHARED_SUBSCRIPTIONS_NOT_SUPPORTED,
                "there are no shared subscriptions here; consumers of a durable one share it",
            )
        levels = tuple(text.split("/"))
        if len(levels) > MQTT_LEVELS_MAX:
            raise MqttError(
                Reason.QUOTA_EXCEEDED,
                f"a topic filter of {len(levels)} levels; MQTT_LEVELS_MAX is {MQTT_LEVELS_MAX}",
            )
        is_wrong = any(
            ("#" in level and (level != "#" or at + 1 < len(levels)))
            or ("+" in level and level != "+")
            for at, level in enumerate(levels)
        )
        if is_wrong or not text:
            raise MqttError(
                Reason.TOPIC_FILTER_INVALID,
                f"{text!r} is no topic filter: + stands for one level, # for all at the end",
            )
        return cls(text, *_condition(levels))

    def accepts(self, topic: str) -> bool:
        """True if a topic matches (4.7.1, 4.7.2)."""
        given = topic.split("/")
        levels = self.given.split("/")
        if topic.startswith(_OF_SERVERS) and levels[0] in ("+", "#"):
            return False
        if levels[-1] == "#":
            levels = levels[:-1]
            if len(given) < len(levels):
                return False
        elif len(given) != len(levels):
            return False
        return all(level in ("+", one) for level, one in zip(levels, given, strict=False))


def _condition(levels: tuple[str, ...]) -> tuple[str, bool]:
    """The filter for these levels, and whether it is exact."""
    goes_on = levels[-1] == "#"
    fixed = levels[:-1] if goes_on else levels
    pattern = "/".join("%" if level == "+" else _escaped(level) for level in fixed)
    is_exact = True
    if not fixed:
        parts = []  # all topics except those of servers, as below
    elif "+" not in fixed:
        same = f"{TOPIC} = {_quoted('/'.join(fixed))}"
        parts = [f"({same} or {_like(pattern + '/%')})" if goes_on else same]
    elif not goes_on:
        parts = [_like(pattern), _like("/".join("%" * (len(fixed) + 1)), negated=True)]
    elif all(level == "+" for level in fixed[fixed.index("+") :]):
        parts = [_like(pattern)]  # more levels may follow, and a run may hold them
    else:
        parts = [f"({_like(pattern)} or {_like(pattern + '/%')})"]
        is_exact = False
    if levels[0] in ("+", "#"):
        parts.append(_like(_OF_SERVERS + "%", negated=True))
    return " and ".join(parts), is_exact


def _escaped(level: str) -> str:
    return level.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _like(pattern: str, *, negated: bool = False) -> str:
    escape = " escape '\\'" if "\\" in pattern else ""
    return f"{TOPIC} {'not ' if negated else ''}like {_quoted(pattern)}{escape}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

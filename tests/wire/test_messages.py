"""The unions of messages."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits import ID_CHARS_MAX, REASON_CHARS_MAX
from sapwood.wire.messages import (
    BrokerMessage,
    ClientMessage,
    Goodbye,
    GoodbyeCode,
    LinkMessage,
    SubscribeRequest,
)
from tests.wire.strategies import broker_messages, client_messages, link_messages


@given(st.one_of(client_messages().map(lambda m: (m, ClientMessage))))
def test_a_client_message_is_read_as_it_was_written(case: tuple[Any, Any]) -> None:
    message, union = case
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=union) == message


@given(broker_messages())
def test_a_broker_message_is_read_as_it_was_written(message: Any) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=BrokerMessage) == message


@given(link_messages())
def test_a_link_message_is_read_as_it_was_written(message: Any) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=LinkMessage) == message


def test_no_two_messages_share_a_tag() -> None:
    kinds = {
        kind for union in (ClientMessage, BrokerMessage, LinkMessage) for kind in get_args(union)
    }
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize(
    "message",
    [
        SubscribeRequest("", "x"),
        SubscribeRequest("x" * (ID_CHARS_MAX + 1), "x"),
        Goodbye(GoodbyeCode.DONE, "x" * (REASON_CHARS_MAX + 1)),
    ],
)
def test_lengths_are_checked_when_a_message_is_read(message: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=ClientMessage)


def test_goodbyes_say_whether_connecting_again_has_a_point() -> None:
    assert [code for code in GoodbyeCode if code.final] == [GoodbyeCode.BARRED]

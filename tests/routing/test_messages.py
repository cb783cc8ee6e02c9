"""Messages between routers."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.messages import (
    Confirm,
    ConfirmAdvertisement,
    Join,
    OnTree,
    Publish,
    Subscribe,
    Unsubscribe,
    Version,
    carried,
)


def test_carried_is_what_a_message_says_on_whatever_tree() -> None:
    said = Unsubscribe("k")
    assert carried(OnTree("r1", 1, said)) is said
    assert carried(said) is said


def test_versions_grow_with_the_incarnation_first() -> None:
    assert Version(0, 9) < Version(1, 0) < Version(1, 1)
    assert carried(Join("r1", Version(0, 1), 1)) == Join("r1", Version(0, 1), 1)


def test_messages_are_values() -> None:
    one, again = (Subscribe("k", parse_filter("a = 1"), 7) for _ in range(2))
    assert (one, hash(one)) == (again, hash(again))
    assert one != Subscribe("k", parse_filter("a = 1"), 8)
    assert len({Confirm("k", 7), ConfirmAdvertisement("k", 7), Confirm("k", 8)}) == 3
    assert repr(Confirm("k", 7)) == "Confirm(key='k', sending=7)"
    with pytest.raises(AttributeError):
        one.sending = 8  # type: ignore[misc]  # what is tested
    match one:
        case Subscribe(key, wanted, sending):
            assert (key, wanted, sending) == ("k", parse_filter("a = 1"), 7)


def test_a_publication_has_no_digest_unless_a_strategy_writes_one() -> None:
    assert Publish("r1", 1, Publication("p", {})).digest == b""

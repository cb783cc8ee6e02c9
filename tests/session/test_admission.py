"""Admission of clients and brokers, and the reasons for refusals."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.session.admission import Identity, refuse_client, refuse_link, takes_link
from sapwood.wire.greetings import Hello, RefusalCode, Role, Welcome

ME = Identity("r1", "one", "covering", 1000)


def broker(name: str = "r2", session: str = "two", **more: Any) -> Hello:
    fields = {"routing": "covering", "frame_bytes_max": 1000, **more}
    return Hello(role=Role.BROKER, name=name, session=session, **fields)


def client(name: str = "c1", session: str = "s") -> Hello:
    return Hello(role=Role.CLIENT, name=name, session=session)


def test_a_client_with_a_new_name_is_let_in() -> None:
    assert refuse_client(client(), None) is None


def test_a_client_that_lost_its_connection_is_let_in_again() -> None:
    assert refuse_client(client(session="s"), "s") is None


def test_a_client_whose_name_is_taken_is_refused() -> None:
    refused = refuse_client(client(session="s"), "other")
    assert refused is not None
    assert refused.code is RefusalCode.NAME_TAKEN
    assert "a client named c1 is connected already" in refused.reason


def test_a_client_whose_name_breaks_lines_is_refused() -> None:
    refused = refuse_client(client(name="a\nb"), None)
    assert refused is not None
    assert refused.code is RefusalCode.SETTINGS


def test_a_broker_that_fits_may_link() -> None:
    assert refuse_link(broker(), ME, {"r3": "three"}, {("r2", "earlier")}) is None


@pytest.mark.parametrize(
    ("hello", "linked", "barred", "code", "reason"),
    [
        (broker("r1", "one"), {}, (), RefusalCode.ITSELF, "cannot link to itself"),
        (broker("r1", "two"), {}, (), RefusalCode.NAME_TAKEN, "two brokers are named r1"),
        (broker(routing="simple"), {}, (), RefusalCode.SETTINGS, "the same --protocol"),
        (broker(frame_bytes_max=1), {}, (), RefusalCode.SETTINGS, "the same --frame-bytes-max"),
        (broker(), {}, {("r2", "two")}, RefusalCode.BARRED, "for good"),
        (broker(), {"r2": "two"}, (), RefusalCode.ALREADY_LINKED, "are linked already"),
        (broker(), {"r2": "old"}, (), RefusalCode.NAME_TAKEN, "another broker named r2"),
        (broker("r 2"), {}, (), RefusalCode.SETTINGS, "is no name for a broker"),
    ],
)
def test_a_broker_is_refused_with_the_reason(
    hello: Hello, linked: dict[str, str], barred: Any, code: RefusalCode, reason: str
) -> None:
    refused = refuse_link(hello, ME, linked, barred)
    assert refused is not None
    assert refused.code is code
    assert reason in refused.reason


@pytest.mark.parametrize(
    ("other", "linked", "offered", "taken"),
    [
        ("r2", (), (), True),
        ("r2", ("r3",), ("r3",), True),
        ("r2", ("r2",), (), False),
        ("r2", (), ("r2",), True),
        ("r0", (), ("r0",), False),
        ("r0", (), (), True),
    ],
)
def test_takes_link_keeps_one_link_and_the_one_the_smaller_name_made(
    other: str, linked: tuple[str, ...], offered: tuple[str, ...], taken: bool
) -> None:
    welcome = Welcome(name=other, session="x", frame_bytes_max=1000)
    assert takes_link(welcome, ME, linked, offered) is taken

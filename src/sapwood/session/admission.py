"""Admission of clients and links: decisions about greetings, as pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sapwood.errors import InputError
from sapwood.session.circles import Circles
from sapwood.wire.greetings import Hello, RefusalCode, Welcome
from sapwood.wire.names import check_name


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a broker; `session` differs from run to run under the same name.

    `listens` is the address at which the broker accepts links, for neighbors that pass it on.
    """

    name: str
    session: str
    routing: str
    frame_bytes_max: int
    listens: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal of a greeting, with its code and its reason."""

    code: RefusalCode
    reason: str


def refuse_client(hello: Hello, present: str | None) -> Refused | None:
    """The refusal of a client's greeting; `None` if the client is admitted.

    `present` is the session of the client of that name that is connected now, if there is one. A
    client of the same name and session is the same client: it lost its connection before this end
    noticed.
    """
    unfit = _unfit_name("client", hello.name)
    if unfit is not None:
        return unfit
    if present is not None and present != hello.session:
        reason = f"a client named {hello.name} is connected already; choose another name"
        return Refused(RefusalCode.NAME_TAKEN, reason)
    return None


def refuse_link(
    hello: Hello,
    me: Identity,
    linked: Mapping[str, str],
    barred: Collection[tuple[str, str]],
    circles: Circles | None = None,
) -> Refused | None:
    """The refusal of a broker's greeting; `None` if the link is admitted.

    `linked` gives the session of each neighbor by name; `barred` names the neighbors (with their
    sessions) whose links were closed for good. Under protocols for trees, `circles` knows which
    brokers are within reach.
    """
    unfit = _unfit_name("broker", hello.name)
    if unfit is not None:
        return unfit
    if hello.session == me.session:
        return Refused(RefusalCode.ITSELF, f"broker {me.name} cannot link to itself")
    if hello.name == me.name:
        reason = f"two brokers are named {me.name}; give each its own with --name"
        return Refused(RefusalCode.NAME_TAKEN, reason)
    if hello.routing != me.routing:
        reason = (
            f"broker {me.name} routes by {me.routing} and broker {hello.name} by {hello.routing}; "
            "start all brokers of an overlay with the same --protocol"
        )
        return Refused(RefusalCode.SETTINGS, reason)
    if hello.frame_bytes_max != me.frame_bytes_max:
        reason = (
            f"broker {me.name} takes frames of {me.frame_bytes_max} bytes and broker {hello.name} "
            f"of {hello.frame_bytes_max}; start all brokers of an overlay with the same "
            "--frame-bytes-max"
        )
        return Refused(RefusalCode.SETTINGS, reason)
    if (hello.name, hello.session) in barred:
        reason = f"broker {me.name} closed its link to {hello.name} for good; restart either"
        return Refused(RefusalCode.BARRED, reason)
    present = linked.get(hello.name)
    if present == hello.session:
        reason = f"brokers {me.name} and {hello.name} are linked already"
        return Refused(RefusalCode.ALREADY_LINKED, reason)
    if present is not None:
        reason = (
            f"another broker named {hello.name} is linked with {me.name}; give each its own name, "
            "or wait until the link of its earlier run has ended"
        )
        return Refused(RefusalCode.NAME_TAKEN, reason)
    if circles is not None and circles.reaches(hello.name):
        return Refused(RefusalCode.CIRCLE, circle_reason(me.name, hello.name))
    return None


def circle_reason(one: str, other: str) -> str:
    """The reason why a link that closes a circle stands by, in words."""
    return (
        f"the link between brokers {one} and {other} closes a circle, and under this protocol "
        "links form a tree: it stands by until another one fails; to use it, put mesh+ before the "
        "name of the protocol at all brokers"
    )


def takes_link(
    welcome: Welcome, me: Identity, linked: Collection[str], offered: Collection[str]
) -> bool:
    """True if a broker takes a link into use after the `Welcome` to its `Hello`.

    `linked` names the neighbors, `offered` the brokers that this broker has welcomed and that have
    not answered yet. Two brokers that connect to each other at the same moment both decide here:
    the connection that the broker with the smaller name made is kept.
    """
    if welcome.name in linked:
        return False
    return welcome.name not in offered or me.name < welcome.name


def _unfit_name(kind: str, name: str) -> Refused | None:
    try:
        check_name(kind, name)
    except InputError as error:
        return Refused(RefusalCode.SETTINGS, str(error))
    return None

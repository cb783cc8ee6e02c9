"""The attacks: each a function that does it to a broker and returns when the broker is done.

`KNOWN` are those of the review that began this, `MORE` what was thought of since, `shared.py` has
those of clients among each other, `doors.py` those of the other doors of a broker. An attack may be
refused, in part or as a whole, and its clients may be disconnected; what is judged is what others
notice (`run.py`).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import contents as c
from links import LINKS
from peer import (
    HEADER,
    PING,
    advertise,
    frame,
    publish,
    replay,
    subscribe,
    subscribe_xpath,
    unsubscribe,
)
from target import Attack, Target

from sapwood.wire.greetings import VERSION

MIB = 1 << 20


KNOWN: dict[str, Attack] = {}
MORE: dict[str, Attack] = {}


def _filter(text: str, times: int = 1) -> Attack:
    def attack(target: Target) -> None:
        with target.peer("filters") as peer:
            peer.send(b"".join(subscribe(f"s{n}", text) for n in range(times)))
            peer.settle()

    return attack


def _record(record: Any, times: int = 1, filters: tuple[str, ...] = ()) -> Attack:
    def attack(target: Target) -> None:
        with target.peer("records") as peer:
            for number, text in enumerate(filters):
                peer.send(subscribe(f"s{number}", text))
            for number in range(times):
                peer.send(publish(number + 1, record))
            peer.settle()

    return attack


def _documents(documents: list[bytes], xpaths: list[str]) -> Attack:
    def attack(target: Target) -> None:
        with target.peer("documents") as peer:
            peer.send(b"".join(subscribe_xpath(f"x{n}", text) for n, text in enumerate(xpaths)))
            for number, document in enumerate(documents):
                peer.send(publish(number + 1, None, document))
            peer.settle()

    return attack


def _text(pattern: str, size: int) -> Attack:
    return _record({"t": "ab" * (size // 2)}, 1, (pattern,))


_DEEPWIDE = c.chain_of("abcd", 160, 60)
_OR16 = "//a[" + " or ".join(f"b{n}='{n}'" for n in range(16)) + "]"

KNOWN.update(
    {
        "filter of 2^10 conjunctions, refused": _filter(c.doubling(11)),
        "filter of 2^10 conjunctions and 300 more": _filter(
            c.doubling(10) + " and " + " and ".join(f"c{n}=1" for n in range(300))
        ),
        "filter refused, 50 times in one write": _filter(c.doubling(11), 50),
        "filter of 1,024 disjuncts": _filter(c.disjuncts(1024)),
        "filter of 32 long like patterns": _filter(c.patterns(32, 1800)),
        "like of 60,000 underscores on 1.9 MB": _text(
            "t like '%a" + "_" * 60_000 + "b%'", 1_900_000
        ),
        "32 like patterns on 1.9 MB": _text(c.patterns(32, 1600), 1_900_000),
        "record of 300,000 attributes": _record(c.wide(260_000)),
        "array of 2 MB of nothing": _record(c.array_of(b"\xc0", 2_090_000)),
        "array of 2 MB of empty objects": _record(c.array_of(b"\x80", 2_090_000)),
        "arrays nested 60 deep, 2 MB": _record(c.nested_arrays(2_090_000, 60)),
        "array of empty objects, 10 times": _record(c.array_of(b"\x80", 2_090_000), 10),
        "array of numbers, 10 times": _record(c.array_of(b"\xcb" + b"?" * 8, 2_090_000), 10),
        "9,999 elements and //a//b//c//d": _documents(
            [c.chain_of("abcd", 250, 40)[:-4] + b"</r>"], ["//a//b//c//d"]
        ),
        "64 attributes on 1,400 elements": _documents(
            [c.attributed(1400, 64)], [f"//*[@a{n}='{n}']" for n in range(64)]
        ),
        "a text of 1 MB": _documents([c.text_of(MIB - 20)], ["//p[contains(.,'y')]", "//p[.='x']"]),
        "a text of 1 MB, compared": _documents(
            [c.text_of(MIB - 20)], ["//p[text()='xy']", "//*[.='xy']", "//p[.>'5']"]
        ),
        "a text of 1 MB of digits, as a number": _documents(
            [c.text_of(MIB - 20, "7")], ["//p[.>5]", "//p[text()<5]", "//p[.=7]"]
        ),
        "names that nobody has seen": _documents(
            [c.distinct_names(9999, n) for n in range(8)], ["//n1x1", "//*[x]//y"]
        ),
        "four steps of //* on a deep, wide document": _documents(
            [_DEEPWIDE], ["//*//*//*//*//a", "//*//*//*//*[@x]"]
        ),
        "nested predicates with //": _documents(
            [_DEEPWIDE], ["//a[.//b[.//c[.//d]]]", "//a[.//b[.//c[.//e]]]"]
        ),
        "16 alternatives in 64 XPaths": _documents(
            [], [_OR16.replace("//a", f"//a{n}") for n in range(32)] + [_OR16] * 32
        ),
        "9,999 texts compared": _documents(
            ["".join(["<r>", *(f"<p>{n}</p>" for n in range(9998)), "</r>"]).encode()],
            ["//p[.='x']", "//p[text()>5]", "//r[.//p='777']"],
        ),
        "string values of 60 levels": _documents(
            [c.string_values(60, 9900)], ["//p[.='1']", "//p[.>5]", "//*[.!='']"]
        ),
    }
)


def _known(name: str) -> Callable[[Attack], Attack]:
    def register(attack: Attack) -> Attack:
        KNOWN[name] = attack
        return attack

    return register


def _more(name: str) -> Callable[[Attack], Attack]:
    def register(attack: Attack) -> Attack:
        MORE[name] = attack
        return attack

    return register


@_known("20 rounds of 150 unfinished frames of 2 MiB")
def unfinished(target: Target) -> None:
    """Send the beginnings of large frames, close the connections after a while, and repeat."""
    for round_ in range(20):
        peers = [target.peer(f"unfinished-{round_}-{n}") for n in range(150)]
        for peer in peers:
            peer.send(HEADER.pack(2 * MIB) + b"x" * 10_000)
        time.sleep(0.2)
        for peer in peers:
            peer.close()


@_known("20,000 equal subscriptions with long ids, 200 publications at once")
def fan_out(target: Target) -> None:
    """Each publication is a delivery of 10 MB to one client, which never reads."""
    with target.peer("fan-out") as peer, target.peer("fan-publisher") as publisher:
        for start in range(0, 20_000, 1000):
            peer.send(
                b"".join(subscribe(f"{n:0512d}", "fan = 1") for n in range(start, start + 1000))
            )
            peer.answers(1000)
        publisher.send(b"".join(publish(n + 1, {"fan": 1}) for n in range(200)))
        publisher.settle()


@_known("subscribers that never read, over and over")
def never_read(target: Target) -> None:
    """Six at a time; each is disconnected, and another one comes."""
    for round_ in range(3):
        peers = [target.peer(f"silent-{round_}-{n}") for n in range(6)]
        for peer in peers:
            peer.send(subscribe("s", "bulk = 1"))
            peer.settle()
        with target.peer(f"bulk-{round_}") as publisher:
            for number in range(40):
                publisher.send(publish(number + 1, {"bulk": 1, "fill": "x" * 500_000}))
            publisher.settle()
        for peer in peers:
            peer.close()


@_known("a wide subscription over 20,000 narrow ones comes and goes")
def wide_over_narrow(target: Target) -> None:
    """Its withdrawal brings all narrow ones back."""
    with target.peer("narrow") as peer, target.peer("wide") as wide:
        for start in range(0, 20_000, 1000):
            peer.send(
                b"".join(subscribe(f"n{n}", f"w > {n}") for n in range(start + 1, start + 1001))
            )
            peer.answers(1000)
        for _ in range(3):
            wide.send(subscribe("w", "w > 0"))
            wide.answers(1)
            wide.send(unsubscribe("w"))
            wide.answers(1)


@_known("a client leaves with 20,000 subscriptions")
def leaves_with_many(target: Target) -> None:
    """And comes back with them."""
    for _ in range(2):
        with target.peer("leaving") as peer:
            for start in range(0, 20_000, 1000):
                peer.send(
                    b"".join(
                        subscribe(f"n{n}", f"v = {n} and w > {n % 7}")
                        for n in range(start, start + 1000)
                    )
                )
                peer.answers(1000)
        time.sleep(0.5)


@_known("sessions beyond what is remembered")
def many_sessions(target: Target) -> None:
    """A thousand names publish once each under the same id."""
    for n in range(1000):
        with target.peer(f"session-{n}") as peer:
            peer.send(publish(1, {"session": n}))
            peer.settle()


@_known("a client that calls itself a broker")
def false_broker(target: Target) -> None:
    """Greets as one, and then says what routers say."""
    for n in range(50):
        with target.peer(f"false-{n}", greeted=False) as peer:
            hello = (
                "sapwood",
                VERSION,
                "hello",
                "broker",
                f"false-{n}",
                "s",
                0,
                "covering",
                2 * MIB,
            )
            peer.send(frame(*hello) + frame(30))
            peer.settle()


@_known("a second client of the same name, over and over")
def same_name(target: Target) -> None:
    """Each one takes the place of the one before, or is refused."""
    with target.peer("twin") as first:
        for _ in range(200):
            try:
                with target.peer("twin") as peer:
                    peer.send(PING)
            except OSError:
                pass
        first.settle()


# More of them ----------------------------------------------------------------------------------

MORE.update(
    {
        "50 different filters of 2^11": lambda target: _send_all(
            target, [subscribe(f"s{n}", c.doubling(11) + f" and q={n}") for n in range(50)]
        ),
        "200 filters of 400 disjuncts": lambda target: _send_all(
            target, [subscribe(f"s{n}", c.disjuncts(400) + f" or q={n}") for n in range(200)]
        ),
        "filter of 1,024 alike boxes": _filter(c.alike(1000)),
        "filter of 60 overlapping boxes": _filter(c.staircase(24), 4),
        "filter with not, nested 60 deep": _filter(c.nested(60), 20),
        "filter with a list of 8,000 texts": _filter(c.long_list(8000), 20),
        "filter of 60 long lists": _filter(c.lists(60, 150), 10),
        "filter with 4,000 holes": _filter(c.holes(4000), 10),
        "filter of 60 excluded patterns": _filter(c.excluded_patterns(500), 10),
        "covering between 60 sets of overlapping boxes": lambda target: _send_all(
            target,
            [
                subscribe(f"s{n}", c.staircase(20).replace("x>=0", f"x>=-{n}") + f" or q={n}")
                for n in range(60)
            ],
        ),
        "records of empty objects by name": _record(c.empty_objects(2_000_000), 5),
        "flat names of 20 KB": _record(c.deep_objects(70, 60), 5),
        "4,000 XPaths with four // on a deep, wide document": _documents(
            [_DEEPWIDE] * 3,
            [f"//{'abcd*'[n % 5]}//*//{'abcd*'[n // 5 % 5]}//e{n}" for n in range(4000)],
        ),
        "XPaths of 16 predicates, on a document that fails the last": _documents(
            [_DEEPWIDE],
            [
                "//a" + "".join(f"[.//{'bcd'[k % 3]}]" for k in range(12)) + f"[.//e{n}]"
                for n in range(30)
            ],
        ),
        "a text parted by 100,000 comments": _documents(
            [c.parted_text(100_000)] * 3, ["//p[.=1]", "//p[text()='1']"]
        ),
        "9,000 namespaces": _documents([c.namespaces(9000)] * 3, ["//e", "//*[@x]"]),
        "documents that are no documents, 500 times": lambda target: _send_all(
            target, [publish(n + 1, None, b"<a>" * 50_000) for n in range(100)]
        ),
        "advertisements of long expressions": lambda target: _send_all(
            target,
            [advertise(f"a{n}", ["paths", "/r" + "(/a|/b|/c)+" * 60 + f"/x{n}"]) for n in range(40)]
            + [subscribe_xpath("s", "//a//b//c//x1")],
        ),
        "100,000 pings": lambda target: _flood(target, PING * 100_000),
        "replays of a journal that is not there": lambda target: _flood(
            target, replay(0, 2**53) * 20_000
        ),
        "subscribe and unsubscribe, 20,000 times": lambda target: _flood(
            target,
            b"".join(
                subscribe("churn", f"churn > {n} and b = {n % 7}") + unsubscribe("churn")
                for n in range(20_000)
            ),
        ),
    }
)


def _of_links(attack: Callable[[str, int], None]) -> Attack:
    return lambda target: attack(target.host, target.port)


MORE.update({name: _of_links(attack) for name, attack in LINKS.items()})


def _send_all(target: Target, frames: list[bytes]) -> None:
    with target.peer("sender") as peer:
        peer.send(b"".join(frames))
        peer.settle()


def _flood(target: Target, data: bytes) -> None:
    """Send in pieces, and read what comes meanwhile: not to read is another attack."""
    with target.peer("flood") as peer:
        for start in range(0, len(data), 65_536):
            try:
                peer.send(data[start : start + 65_536])
            except OSError:
                return
            peer.discard()
        try:
            peer.send(PING)
            quiet = time.monotonic() + 1.0
            peer.socket.settimeout(1.0)
            while time.monotonic() < quiet:
                if peer.socket.recv(MIB):
                    quiet = time.monotonic() + 1.0
                else:
                    break
        except OSError:
            pass


@_more("1,000 connections that never greet")
def half_open(target: Target) -> None:
    """Half of them begin to."""
    sockets = []
    for n in range(800):
        one = socket.create_connection((target.host, target.port))
        if n % 2:
            one.send(HEADER.pack(200) + b"x")
        sockets.append(one)
    time.sleep(1.0)
    for one in sockets:
        one.close()


@_more("2,000 connections that come and go")
def come_and_go(target: Target) -> None:
    """Each greets, subscribes and goes without a word."""
    for n in range(2000):
        with target.peer(f"short-{n % 10}-{n}") as peer:
            peer.send(subscribe("s", f"short = {n}"))


@_more("20,000 subscriptions that all match everything")
def match_everything(target: Target) -> None:
    """And a subscriber that reads."""
    with target.peer("everything") as peer:
        for start in range(0, 20_000, 1000):
            peer.send(
                b"".join(subscribe(f"e{n}", f"x{n} is null") for n in range(start, start + 1000))
            )
            peer.answers(1000)
        peer.discard()
        deadline = time.monotonic() + 5.0
        while time.monotonic() < deadline:
            peer.discard()
            time.sleep(0.001)


@_more("bytes one by one")
def drip(target: Target) -> None:
    """A megabyte of a frame in pieces of ten bytes."""
    with target.peer("drip") as peer:
        peer.send(HEADER.pack(MIB))
        for _ in range(20_000):
            peer.send(b"x" * 10)


@_more("a publisher of 20,000 small publications without reading")
def deaf_publisher(target: Target) -> None:
    """In one go."""
    with target.peer("deaf") as peer:
        peer.socket.settimeout(10.0)
        try:
            peer.send(b"".join(publish(n + 1, {"deaf": n}) for n in range(20_000)))
        except OSError:
            return
        peer.settle()

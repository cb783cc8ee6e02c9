"""The written form of a scenario: one JSON object.

::

    {"scenario": 1, "name": "two homes", "seed": 7, "jitter": 0.0, "notice": 0.0, "commit": 0.0,
     "topology": {"routers": ["r1", "r2"], "link": [{"between": ["r1", "r2"], "latency": 0.01}]},
     "steps": [
       {"do": "subscribe", "home": "r2", "client": "ann", "id": "s1", "filter": "price > 10"},
       {"do": "wait", "until": "confirmed"},
       {"do": "publish", "home": "r1", "client": "bob", "id": "p1", "attributes": {"price": 12}},
       {"do": "fail-link", "between": ["r1", "r2"], "after": 0.5},
       {"do": "wait", "until": "quiet"}]}

A subscription or an advertisement of documents has an `xpath` (and `namespaces`) in the place of
`filter`, an advertisement may have `paths`; a publication has `attributes`, a `document` or both,
and may have a `payload` in base64, and be `blind` (`true`). The other things to do are `change` and
`advertise` (written like `subscribe`), `unsubscribe`, `unadvertise`, `subscribe-many` (with
`subscriptions`, a list of `id` and `filter` each), `unsubscribe-many` (with `ids`), `detach`,
`return-link`, `crash-router`, `return-router`, `suspect` (`router`, `of`, `seconds`), `corrupt`
(`router`, `kinds`, `share`, `seed`), `set-channel`, `set-clock`, `tamper` and `stall-timer`
(written like `[[channel]]`, `[[clock]]`, `[[tampering]]` and `[[timer]]` in a file of faults,
without when they begin or end); and, for routers and links that come and go, `add-router` and
`remove-router` (with `router`), `add-link` (with `between` and, if not 0.01 seconds, `latency`) and
`remove-link`. `crash-router` may name the `tail` of unwritten inputs that is left (`lost`, `torn`
or `whole`), and after how many `steps` of writing the router crashes. `after` is how many seconds
to let pass before a step, 0 where it is left out.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, Final, assert_never

import msgspec

from sapwood.errors import InputError, UnknownNameError
from sapwood.language.written import Written, as_given, read_advertised, read_interest
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.document import decode_topology, encode_topology
from sapwood.overlay.fields import Fields
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S
from sapwood.simulation.channels import (
    SET_CHANNEL,
    SetChannel,
    decode_set_channel,
    encode_set_channel,
)
from sapwood.simulation.clocks import SET_CLOCK, SetClock, decode_set_clock, encode_set_clock
from sapwood.simulation.corruption import corruption_of
from sapwood.simulation.faults import tail_of
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    Action,
    AddLink,
    AddRouter,
    AdvertiseAction,
    Change,
    ChangeAction,
    CorruptTables,
    CrashRouter,
    DetachAction,
    FailLink,
    PublishAction,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    SubscribeManyAction,
    Suspect,
    UnadvertiseAction,
    UnsubscribeAction,
    UnsubscribeManyAction,
    Until,
    WaitAction,
)
from sapwood.simulation.tampering import (
    STALL_TIMER,
    TAMPER,
    StallTimer,
    Tamper,
    encode_tampering,
    stall_of,
    tamper_of,
)
from sapwood.xml.encodings import decode_text, encode_text

VERSION: Final = 1

_TIMES: Final = ("jitter", "notice", "commit", "processing")
_HEAD: Final = ("scenario", "name", "seed", *_TIMES, "topology", "steps")
_CLIENT: Final = ("home", "client")
_INTEREST: Final = ("filter", "xpath", "namespaces")


def decode_scenario(text: bytes | str) -> Scenario:
    """The scenario that a JSON text describes; raises `InputError` naming the field or step."""
    try:
        document = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InputError(f"the scenario is not JSON: {error}") from error
    fields = Fields("the scenario", document, _HEAD)
    version = fields.integer("scenario")
    if version != VERSION:
        raise InputError(f"the scenario is of version {version}; this program reads {VERSION}")
    return Scenario(
        name=fields.text("name"),
        topology=decode_topology(fields.mapping("topology"), "the scenario's topology"),
        steps=tuple(
            _decode_step(f"step {number} of the scenario", entry)
            for number, entry in enumerate(fields.tables("steps"), 1)
        ),
        seed=fields.integer("seed", 0),
        timing=Timing(
            jitter=fields.number("jitter", 0.0, what="a share of the latency"),
            notice_s=fields.number("notice", 0.0),
            commit_s=fields.number("commit", 0.0),
            processing_s=fields.number("processing", 0.0),
        ),
    )


def encode_scenario(scenario: Scenario) -> bytes:
    """The JSON text that `decode_scenario` reads back as an equal scenario."""
    document = {
        "scenario": VERSION,
        "name": scenario.name,
        "seed": scenario.seed,
        "jitter": scenario.timing.jitter,
        "notice": scenario.timing.notice_s,
        "commit": scenario.timing.commit_s,
        "processing": scenario.timing.processing_s,
        "topology": encode_topology(scenario.topology),
        "steps": [_encode_step(step) for step in scenario.steps],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _decode_step(place: str, entry: object) -> Step:
    word = entry.get("do") if isinstance(entry, Mapping) else None
    if not isinstance(word, str):
        raise InputError(f"{place}: `do` must say what to do, one of {', '.join(_DECODERS)}")
    if word not in _DECODERS:
        raise UnknownNameError("step", word, _DECODERS)
    known, decode = _DECODERS[word]
    fields = Fields(f"{place} ({word})", entry, ("do", "after", *known))
    return Step(decode(fields), fields.number("after", 0.0))


def _encode_step(step: Step) -> dict[str, Any]:
    encoded = _encode_action(step.action)
    if step.after_s:
        encoded["after"] = step.after_s
    return encoded


def _encode_action(action: Action) -> dict[str, Any]:
    match action:
        case SubscribeAction(name, wanted) | ChangeAction(name, wanted):
            word = "change" if isinstance(action, ChangeAction) else "subscribe"
            return {"do": word, **name._asdict(), **_written(wanted)}
        case UnsubscribeAction(name):
            return {"do": "unsubscribe", **name._asdict()}
        case SubscribeManyAction() | UnsubscribeManyAction():
            return _encode_many(action)
        case AdvertiseAction(advertisement, promised):
            return {"do": "advertise", **asdict(advertisement), **_written(promised)}
        case UnadvertiseAction(advertisement):
            return {"do": "unadvertise", **asdict(advertisement)}
        case PublishAction(publisher, publication):
            return {"do": "publish", **publisher._asdict(), **_content(publication)}
        case DetachAction(client):
            return {"do": "detach", **client._asdict()}
        case Tamper() | StallTimer():
            return encode_tampering(action)
        case (
            FailLink() | ReturnLink() | CrashRouter() | ReturnRouter() | Suspect() | CorruptTables()
        ):
            return _encode_fault(action)
        case AddRouter() | RemoveRouter() | AddLink() | RemoveLink():
            return _encode_change(action)
        case SetChannel():
            return encode_set_channel(action)
        case SetClock():
            return encode_set_clock(action)
        case WaitAction(until):
            return {"do": "wait", "until": until.value}
        case _:
            assert_never(action)


def _encode_many(action: SubscribeManyAction | UnsubscribeManyAction) -> dict[str, Any]:
    if isinstance(action, UnsubscribeManyAction):
        return {"do": "unsubscribe-many", **action.client._asdict(), "ids": list(action.ids)}
    many = [{"id": id_, **_written(wanted)} for id_, wanted in action.subscriptions]
    return {"do": "subscribe-many", **action.client._asdict(), "subscriptions": many}


def _encode_fault(
    fault: FailLink | ReturnLink | CrashRouter | ReturnRouter | Suspect | CorruptTables,
) -> dict[str, Any]:
    match fault:
        case Suspect(router, neighbor, seconds):
            return {"do": "suspect", "router": router, "of": neighbor, "seconds": seconds}
        case CorruptTables(router, kinds, share, seed):
            struck = {"router": router, "kinds": list(kinds), "share": share, "seed": seed}
            return {"do": "corrupt", **struck}
        case FailLink(a, b):
            return {"do": "fail-link", "between": [a, b]}
        case ReturnLink(a, b):
            return {"do": "return-link", "between": [a, b]}
        case CrashRouter(router, tail, steps):
            crash = {"do": "crash-router", "router": router, "tail": tail.value, "steps": steps}
            return {key: value for key, value in crash.items() if value not in (None, "lost")}
        case ReturnRouter(router):
            return {"do": "return-router", "router": router}
        case CorruptTables(router, kinds, share, seed):
            struck = {"router": router, "kinds": list(kinds), "share": share, "seed": seed}
            return {"do": "corrupt", **struck}
        case _:
            assert_never(fault)


def _encode_change(change: Change) -> dict[str, Any]:
    match change:
        case AddRouter(router):
            return {"do": "add-router", "router": router}
        case RemoveRouter(router):
            return {"do": "remove-router", "router": router}
        case AddLink(a, b, latency_s):
            return {"do": "add-link", "between": [a, b], "latency": latency_s}
        case RemoveLink(a, b):
            return {"do": "remove-link", "between": [a, b]}
        case _:
            assert_never(change)


def _written(wanted: AdvertisedContent) -> dict[str, Any]:
    written = as_given(wanted)
    members: dict[str, Any] = {written.language: written.text}
    if written.namespaces is not None:
        members["namespaces"] = written.namespaces
    return members


def _content(publication: Publication) -> dict[str, Any]:
    content: dict[str, Any] = {"id": publication.id}
    if publication.attributes is not None:
        content["attributes"] = publication.attributes
    if publication.document is not None:
        content["document"] = decode_text(publication.document)
    if publication.payload is not None:
        content["payload"] = b64encode(publication.payload).decode()
    if publication.is_blind:
        content["blind"] = True
    return content


def _client(fields: Fields) -> ClientName:
    return ClientName(fields.text("home"), fields.text("client"))


def _subscription(fields: Fields) -> SubscriptionName:
    return SubscriptionName(*_client(fields), fields.text("id"))


def _advertisement(fields: Fields) -> AdvertisementName:
    return AdvertisementName(*_client(fields), fields.text("id"))


def _promise(fields: Fields) -> AdvertisedContent:
    if "paths" not in fields:
        return _interest(fields)
    try:
        return read_advertised(Written("paths", fields.text("paths")))
    except InputError as error:
        raise InputError(f"{fields.place}: {error}") from error


def _interest(fields: Fields) -> Interest:
    try:
        if "xpath" not in fields:
            return read_interest(Written("filter", fields.text("filter")))
        bindings: tuple[tuple[str, str], ...] | None = None
        if "namespaces" in fields:
            bindings = tuple(sorted(fields.mapping("namespaces").items()))
        return read_interest(Written("xpath", fields.text("xpath"), bindings))
    except InputError as error:
        raise InputError(f"{fields.place}: {error}") from error


def _subscribe_many(fields: Fields) -> Action:
    subscriptions: list[tuple[str, Interest]] = []
    for number, entry in enumerate(fields.tables("subscriptions"), 1):
        one = Fields(f"subscription {number} of {fields.place}", entry, ("id", *_INTEREST))
        subscriptions.append((one.text("id"), _interest(one)))
    return SubscribeManyAction(_client(fields), tuple(subscriptions))


def _publish(fields: Fields) -> Action:
    try:
        record, text = "attributes" in fields, "document" in fields
        publication = Publication(
            fields.text("id"),
            dict(fields.mapping("attributes")) if record or not text else None,
            encode_text(fields.text("document")) if text else None,
            _payload(fields) if "payload" in fields else None,
            is_blind=fields.flag("blind"),
        )
        publication.read_document()
    except InputError as error:
        raise InputError(f"{fields.place}: {error}") from error
    return PublishAction(_client(fields), publication)


def _payload(fields: Fields) -> bytes:
    try:
        return b64decode(fields.text("payload"), validate=True)
    except ValueError:
        raise InputError("the payload is no base64") from None


def _crash(fields: Fields) -> Action:
    steps = fields.integer("steps") if "steps" in fields else None
    return CrashRouter(fields.text("router"), tail_of(fields), steps)


def _wait(fields: Fields) -> Action:
    known = {until.value: until for until in Until}
    word = fields.text("until")
    if word not in known:
        raise UnknownNameError("state to wait for", word, known)
    return WaitAction(known[word])


_DECODERS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Fields], Action]]]] = (
    MappingProxyType(
        {
            "subscribe": (
                (*_CLIENT, "id", *_INTEREST),
                lambda f: SubscribeAction(_subscription(f), _interest(f)),
            ),
            "change": (
                (*_CLIENT, "id", *_INTEREST),
                lambda f: ChangeAction(_subscription(f), _interest(f)),
            ),
            "unsubscribe": ((*_CLIENT, "id"), lambda f: UnsubscribeAction(_subscription(f))),
            "subscribe-many": ((*_CLIENT, "subscriptions"), _subscribe_many),
            "unsubscribe-many": (
                (*_CLIENT, "ids"),
                lambda f: UnsubscribeManyAction(_client(f), tuple(f.texts("ids"))),
            ),
            "advertise": (
                (*_CLIENT, "id", *_INTEREST, "paths"),
                lambda f: AdvertiseAction(_advertisement(f), _promise(f)),
            ),
            "unadvertise": ((*_CLIENT, "id"), lambda f: UnadvertiseAction(_advertisement(f))),
            "publish": (
                (*_CLIENT, "id", "attributes", "document", "payload", "blind"),
                _publish,
            ),
            "detach": (_CLIENT, lambda f: DetachAction(_client(f))),
            "fail-link": (("between",), lambda f: FailLink(*f.pair("between"))),
            "return-link": (("between",), lambda f: ReturnLink(*f.pair("between"))),
            "suspect": (
                ("router", "of", "seconds"),
                lambda f: Suspect(f.text("router"), f.text("of"), f.number("seconds")),
            ),
            "corrupt": (
                ("router", "kinds", "share", "seed"),
                lambda f: corruption_of(f, f.integer("seed") if "seed" in f else 0),
            ),
            "tamper": (TAMPER, tamper_of),
            "stall-timer": (STALL_TIMER, stall_of),
            "crash-router": (("router", "tail", "steps"), _crash),
            "return-router": (("router",), lambda f: ReturnRouter(f.text("router"))),
            "add-router": (("router",), lambda f: AddRouter(f.text("router"))),
            "remove-router": (("router",), lambda f: RemoveRouter(f.text("router"))),
            "add-link": (
                ("between", "latency"),
                lambda f: AddLink(*f.pair("between"), f.number("latency", LINK_LATENCY_DEFAULT_S)),
            ),
            "remove-link": (("between",), lambda f: RemoveLink(*f.pair("between"))),
            "set-channel": (SET_CHANNEL, decode_set_channel),
            "set-clock": (SET_CLOCK, decode_set_clock),
            "wait": (("until",), _wait),
        }
    )
)

"""Records, documents and lines of files: what publications are made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from sapwood.files.flat_lines import decode_flat_line
from sapwood.files.lines import (
    decode_advertisement,
    decode_publication,
    decode_record,
    decode_subscription,
)
from sapwood.model.publication import Publication
from sapwood.wire import publications as wire
from sapwood.wire.publications import encode_publication
from sapwood.xml.reader import read_document
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import changed_value, mutated, pick
from sapwood_lab.fuzz.targets.frames import _BODIES as BODIES

_DOCUMENTS: Final = (
    b"<a/>",
    b"<?xml version='1.0' encoding='UTF-8'?><nitf><body>text</body></nitf>",
    b"<a b='1' c=\"&lt;&#65;&#x1F600;\"><!-- c --><b><![CDATA[<x>]]></b>t&amp;</a>",
    b"<p:a xmlns:p='urn:a' xmlns='urn:b'><b p:c='1'/><?pi data?></p:a>",
    b"\xff\xfe" + "<a>größe</a>".encode("utf-16-le"),
    "<?xml version='1.0' encoding='ISO-8859-1'?><a>größe</a>".encode("latin-1"),
    b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
    b"<a>" * 70 + b"</a>" * 70,
)
_PIECES: Final = (
    *_DOCUMENTS,
    *(b"<!DOCTYPE", b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?", b"?>", b"&#0;", b"&#xFFFFFFFF;"),
    *(
        b"xmlns:p='",
        b"xml:lang='x'",
        b"encoding='utf-7'",
        b"\xef\xbb\xbf",
        b"\x00<\x00a\x00>",
        b"&x;",
    ),
)
_LINES: Final[tuple[Any, ...]] = (
    {"id": "s1", "filter": "price > 10"},
    {"id": "s2", "xpath": "//a[b]", "namespaces": {"p": "urn:p"}, "home": "r1"},
    {"id": "s3", "jms": "a = 1"},
    {"id": "s4", "sns": {"a": ["x"]}},
    {"id": "p1", "attributes": {"price": 12.5, "deep": {"a": [1, None]}}, "home": "r1"},
    {"id": "p2", "document": "<a/>", "payload": "AAECAw==", "ttl": 1.5},
    {"id": "p3", "attributes": {}, "traceparent": f"00-{'1' * 32}-{'2' * 16}-01"},
    {"id": "a1", "paths": "/r(/a)+"},
    {"price": 1, "symbol": "IBM", "ok": True},
)


def _body(random: Random) -> bytes:
    return mutated(random, pick(random, BODIES), BODIES)


def _publication(body: bytes) -> Any:
    read = wire.decode_publication(body)
    return repr(read), encode_publication(read)


def _document(random: Random) -> bytes:
    return mutated(random, pick(random, _DOCUMENTS), _PIECES)


def _read_document(data: bytes) -> Any:
    """The document; what is in it changes nothing of its elements."""
    whole = read_document(data)
    bare = read_document(data, content=False)
    assert whole.names == bare.names, f"without content: {bare.names!r:.200}"
    assert whole.parents == bare.parents, f"without content: {bare.parents!r:.200}"
    return repr(whole.names), repr([list(whole.texts(at)) for at in range(len(whole))])


def _lines(seeds: tuple[Any, ...]) -> Callable[[Random], bytes]:
    return lambda random: _line(random, seeds)


def _line(random: Random, seeds: tuple[Any, ...]) -> bytes:
    value = pick(random, seeds if random.random() < 0.9 else _LINES)
    for _ in range(int(random.random() * 3)):
        value = changed_value(random, value)
    try:
        line = json.dumps(value, ensure_ascii=random.random() < 0.5).encode()
    except (TypeError, UnicodeEncodeError):  # no JSON, or no UTF-8
        line = json.dumps(pick(random, seeds)).encode()
    return mutated(random, line, (line,)) if random.random() < 0.4 else line


def _publication_line(line: bytes) -> Any:
    """A publication line; the fast reader gives the same value or `None`."""
    flat = decode_flat_line(line)
    read = decode_publication(line)
    made: Publication = read.publication
    if flat is not None:
        assert flat.id == made.id, f"the fast reader has {flat!r:.300}"
    return repr(made), read.home


def _record_line(line: bytes) -> Any:
    return repr(decode_record(line, "id"))


def _subscription_line(line: bytes) -> Any:
    read = decode_subscription(line)
    return read.id, str(read.filter), read.home


def _advertisement_line(line: bytes) -> Any:
    return repr(decode_advertisement(line))


def targets() -> list[Target]:
    """The targets of this module."""
    return [
        Target("publications", 90, _body, _publication),
        Target("documents", 35, _document, _read_document),
        Target("lines of publications", 30, _lines(_LINES[4:7]), _publication_line),
        Target(
            "lines of records", 20, _lines(_LINES[4:]), lambda line: repr(decode_record(line, "id"))
        ),
        Target("lines of subscriptions", 12, _lines(_LINES[:4]), _subscription_line),
        Target("lines of advertisements", 8, _lines(_LINES[-2:]), _advertisement_line),
    ]

"""Envelopes in a request's headers, and the headers that are passed over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from sapwood.broker.http.envelopes import envelope_in, trace_in, within
from sapwood.errors import InputError
from sapwood.limits.timing import TRACESTATE_CHARS_MAX
from sapwood.model.envelope import Envelope, enveloped
from sapwood.model.publication import Publication

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("given_", "taken"),
    [
        (PARENT, PARENT),
        (f" {PARENT} ", PARENT),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-ff"),
        # Of later versions the first four fields count, and of the flags the last bit.
        (f"01-{TRACE}-{SPAN}-03", PARENT),
        (f"cc-{TRACE}-{SPAN}-02-more", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (PARENT.upper(), None),
        (PARENT[:-1], None),
        (f"{PARENT}x", None),
        ("", None),
    ],
)
def test_of_a_traceparent_what_the_format_says_is_taken(given_: str, taken: str | None) -> None:
    assert trace_in([given_], ["a=1"]) == (taken, None if taken is None else "a=1")


def test_a_tracestate_goes_with_one_traceparent_and_is_joined() -> None:
    assert trace_in([PARENT], ["a=1", " b=2 ", ""]) == (PARENT, "a=1,b=2")
    assert trace_in([PARENT], []) == trace_in([PARENT], ["  "]) == (PARENT, None)
    assert trace_in([PARENT], ["é"]) == (PARENT, None)
    longest = "x" * TRACESTATE_CHARS_MAX
    assert trace_in([PARENT], [longest]) == (PARENT, longest)
    assert trace_in([PARENT], [longest + "x"]) == (PARENT, None)
    assert trace_in([], ["a=1"]) == trace_in([PARENT, PARENT], ["a=1"]) == (None, None)


def test_a_time_to_live_is_the_header_or_the_parameter() -> None:
    assert envelope_in(Headers({}), None) is None
    assert envelope_in(Headers({"ttl": "60"}), None) == Envelope(60_000)
    assert envelope_in(Headers({"ttl": "2.5"}), "2.5") == envelope_in(Headers({}), "2.5")
    assert envelope_in(Headers({"traceparent": PARENT}), "1") == Envelope(1000, PARENT)
    for headers, ttl in (({"ttl": "1"}, "2"), ({"ttl": "x"}, None), ({}, "nan"), ({}, "0")):
        with pytest.raises(InputError):
            envelope_in(Headers(headers), ttl)


@given(st.text(max_size=70), st.text(max_size=20), st.none() | st.text(max_size=8))
def test_any_headers_are_an_envelope_or_bad_input(parent: str, state: str, ttl: str | None) -> None:
    raw = [
        (name, value.encode(errors="replace"))
        for name, value in ((b"traceparent", parent), (b"tracestate", state))
    ]
    try:
        found = envelope_in(Headers(raw=raw), ttl)
    except InputError:
        return
    if found is not None:
        seconds = None if found.ttl_ms is None else found.ttl_ms / 1000
        assert enveloped(seconds, found.traceparent, found.tracestate) == found


def test_a_line_goes_by_its_own_time_and_by_the_span_of_the_request() -> None:
    one, other = Envelope(1, PARENT, "a=1"), Envelope(2, f"00-{TRACE}-{SPAN}-00")
    plain = Publication("p", {"a": 1})
    assert within(plain, None) is plain
    assert within(plain, one).envelope == one
    limited = plain.in_envelope(one)
    assert within(limited, None) is limited
    assert within(limited, Envelope(2)).envelope == one
    assert within(limited, other).envelope == Envelope(1, other.traceparent)
    assert within(plain.in_envelope(Envelope(3)), other).envelope == Envelope(3, other.traceparent)

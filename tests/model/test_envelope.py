"""Envelopes: the data that travels beside the content of a publication."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

from sapwood.errors import InputError
from sapwood.limits.timing import TRACESTATE_CHARS_MAX, TTL_MS_MAX
from sapwood.model.envelope import Envelope, enveloped
from sapwood.model.publication import Publication


def test_a_time_to_live_is_kept_in_whole_milliseconds() -> None:
    assert enveloped(2.5) == enveloped(timedelta(seconds=2.5)) == Envelope(2500)
    assert enveloped(0.001) == Envelope(1)
    assert enveloped(TTL_MS_MAX / 1000) == Envelope(TTL_MS_MAX)
    assert (Envelope(2500).ttl_ns, Envelope().ttl_ns) == (2_500_000_000, None)


def test_an_envelope_is_there_where_something_is_in_it() -> None:
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert enveloped() is None
    assert enveloped(traceparent=span) == Envelope(None, span)
    assert enveloped(1, span) == Envelope(1000, span)
    with pytest.raises(InputError, match="00-TRACE-SPAN-FLAGS"):
        enveloped(traceparent=span.upper())
    assert enveloped(None, span, "a=1") == Envelope(None, span, "a=1")
    assert enveloped(None, span, "x" * TRACESTATE_CHARS_MAX) is not None
    for state in ("", "\n", "é", "x" * (TRACESTATE_CHARS_MAX + 1)):
        with pytest.raises(InputError, match="TRACESTATE_CHARS_MAX"):
            enveloped(None, span, state)
    with pytest.raises(InputError, match="there is none"):
        enveloped(1, tracestate="a=1")


@pytest.mark.parametrize("ttl", [0, -1.0, 0.0009, TTL_MS_MAX, float("nan"), float("inf")])
def test_what_is_no_time_to_live_is_refused(ttl: float) -> None:
    with pytest.raises(InputError, match="TTL_MS_MAX"):
        enveloped(ttl)


def test_copies_keep_the_envelope() -> None:
    plain = Publication("p", {"a": 1}, payload=b"x", is_blind=True)
    limited = plain.in_envelope(Envelope(5))
    assert plain.envelope is None
    assert limited != plain
    assert copy.copy(limited) == limited
    assert limited.renamed("q").envelope == limited.beyond().envelope == Envelope(5)


def test_when_it_was_written_is_kept_of_what_has_an_end() -> None:
    plain = Publication("p", {"a": 1})
    limited = plain.in_envelope(Envelope(5))
    for one in (plain, limited):
        one.keep_written_at(3.0)
    assert (plain.written_at, limited.written_at) == (None, 3.0)

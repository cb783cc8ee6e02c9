"""The envelope in a request that publishes: the time to live, and the span.

A time to live is the header `TTL`, in seconds (as in RFC 8030, 5.2, which has whole ones), or the
parameter `ttl`. `traceparent` and `tracestate` are those of the W3C's Trace Context, which requires
that invalid values are ignored: a tracing system in between must not stop a request.
"""

from __future__ import annotations

import re
from typing import Final

from starlette.datastructures import Headers

from sapwood.errors import InputError
from sapwood.limits.timing import TRACESTATE_CHARS_MAX
from sapwood.model.envelope import Envelope, enveloped
from sapwood.model.publication import Publication

_SECONDS: Final = re.compile(r"\d{1,12}(\.\d{1,9})?", re.ASCII)
_TRACE: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_PRINTABLE: Final = re.compile(r"[ -~]+")
_NO_VERSION: Final = "ff"
_SAMPLED: Final = 1


def envelope_in(headers: Headers, ttl: str | None) -> Envelope | None:
    """The envelope in a request's headers, and its parameter `ttl`. Raises `InputError`."""
    told = headers.get("ttl")
    if told is not None and ttl is not None and told != ttl:
        raise InputError(f"the header TTL says {told!r} and the parameter ttl {ttl!r}; say it once")
    trace = trace_in(headers.getlist("traceparent"), headers.getlist("tracestate"))
    return enveloped(_seconds(told if ttl is None else ttl), *trace)


def trace_in(parents: list[str], states: list[str]) -> tuple[str | None, str | None]:
    """The `traceparent` and `tracestate` of headers, or of an event; `None` for invalid ones.

    Of a later version of the format, the fields of the present one are used (Trace Context, 3.2.4).
    """
    found = _TRACE.fullmatch(parents[0].strip()) if len(parents) == 1 else None
    if found is None:
        return None, None
    version, trace, span, flags, more = found.groups()
    if (
        version == _NO_VERSION
        or (version == "00" and more)
        or not (trace.strip("0") and span.strip("0"))
    ):
        return None, None
    if version != "00":
        flags = f"{int(flags, 16) & _SAMPLED:02x}"
    state = ",".join(one.strip() for one in states if one.strip())
    is_state = len(state) <= TRACESTATE_CHARS_MAX and _PRINTABLE.fullmatch(state) is not None
    return f"00-{trace}-{span}-{flags}", state if is_state else None


def within(publication: Publication, given: Envelope | None) -> Publication:
    """A publication in the envelope of its request: its own time to live takes precedence.

    The span of the request precedes its own, which is the request's origin in the end.
    """
    own = publication.envelope
    if given is None or own is None:
        return publication if given is None else publication.in_envelope(given)
    trace = own if given.traceparent is None else given
    ttl_ms = given.ttl_ms if own.ttl_ms is None else own.ttl_ms
    return publication.in_envelope(Envelope(ttl_ms, trace.traceparent, trace.tracestate))


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    if not _SECONDS.fullmatch(text.strip()):
        raise InputError(f"a time to live is a number of seconds, as 2.5, not {text[:80]!r}")
    return float(text)

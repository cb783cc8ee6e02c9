"""Spans of a broker's work on traced publications, for OpenTelemetry.

A publication is traced if its envelope has a `traceparent` (W3C Trace Context) with the flag for
it. The `traceparent` travels unchanged, as the publisher wrote it, so that all brokers' spans
belong to the publisher's::

   the publisher's span
   ├── accept   at the first broker        ├── receive   at each further one
   │   ├── match                           │   ├── match
   │   ├── forward   to each neighbor      │   └── deliver
   │   └── deliver   to each client or mailbox

A broker that traces nothing does not read it. OTLP goes over HTTP: collectors accept it at any port
and through any proxy, and it needs no compiled library, as gRPC does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sapwood import __version__
from sapwood.errors import EnvironmentMissingError
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.effects import Deliver, Effect
from sapwood.routing.inputs import ClientPublish, Input, Receive
from sapwood.routing.messages import Publish, carried
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol

if TYPE_CHECKING:
    from opentelemetry.context import Context

_TRACES_PATH: Final = "/v1/traces"
"""The path of spans at a collector, below its address (OTLP 1.x)."""

_EXPORT_S: Final = 5
"""Seconds for one export, and for the last one when the broker stops."""


class Tracing:
    """The spans of one broker: they go to a collector in the background, or are dropped.

    Raises `EnvironmentMissingError` where OpenTelemetry is not installed.
    """

    def __init__(self, endpoint: str, name: str) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise EnvironmentMissingError(
                f"--traces needs OpenTelemetry ({error}): pip install 'sapwood[otel]'"
            ) from error
        told = {
            "service.name": "sapwood",
            "service.version": __version__,
            "service.instance.id": name,
        }
        exporter = OTLPSpanExporter(endpoint.rstrip("/") + _TRACES_PATH, timeout=_EXPORT_S)
        self._provider = TracerProvider(resource=Resource.create(told), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("sapwood", __version__)
        self._trace = trace
        #: the publication that is being routed, and the parent span of its effects
        self._current: tuple[str, Context] | None = None

    def close(self) -> None:
        """Send the remaining spans, and stop."""
        self._provider.shutdown()

    def routed(self, request: Input, begin_ns: int) -> None:
        """Record the spans of an input routed since `begin_ns`, if it was a traced publication."""
        publication = published(request)
        parent = None if publication is None else self._parent(publication)
        if publication is None or parent is None:
            self._current = None
            return
        end_ns, about = time.time_ns(), {"messaging.message.id": publication.id}
        if isinstance(request, Receive):
            kind, name = self._trace.SpanKind.CONSUMER, "receive"
            about["sapwood.neighbor"] = request.neighbor
        else:
            assert isinstance(request, ClientPublish), "what else publishes"
            kind, name = self._trace.SpanKind.SERVER, "accept"
            about["sapwood.client"] = request.client
        root = self._tracer.start_span(
            name, parent, kind, _operation("receive", about), start_time=begin_ns
        )
        below = self._trace.set_span_in_context(root)
        match = self._tracer.start_span(
            "match", below, attributes=_operation("match", about), start_time=begin_ns
        )
        match.end(end_ns)
        root.end(end_ns)
        self._current = (publication.id, below)

    def forwarded(self, neighbor: str, publication: Publication, hops: int) -> None:
        """Record that a publication was put on a link."""
        about = {"sapwood.neighbor": neighbor, "sapwood.hops": hops}
        self._say("forward", publication, "send", about)

    def delivered(self, effect: Deliver, *, is_kept: bool) -> None:
        """Record that a publication went to a client, or to a mailbox where it `is_kept`."""
        about: dict[str, Any] = {
            "sapwood.mailbox" if is_kept else "sapwood.client": effect.client,
            "sapwood.subscriptions": list(effect.subscriptions[:16]),
        }
        self._say("deliver", effect.publication, "send", about)

    def _say(
        self, name: str, publication: Publication, operation: str, about: dict[str, Any]
    ) -> None:
        current = self._current
        below = current[1] if current is not None and current[0] == publication.id else None
        below = self._parent(publication) if below is None else below
        if below is None:
            return
        about["messaging.message.id"] = publication.id
        kind = self._trace.SpanKind.PRODUCER
        self._tracer.start_span(name, below, kind, _operation(operation, about)).end()

    def _parent(self, publication: Publication) -> Context | None:
        """The context of the publisher's span, if the publication is traced."""
        envelope, trace = publication.envelope, self._trace
        if envelope is None or envelope.traceparent is None:
            return None
        _, trace_id, span_id, flags = envelope.traceparent.split("-")
        known = trace.SpanContext(
            int(trace_id, 16),
            int(span_id, 16),
            is_remote=True,
            trace_flags=trace.TraceFlags(int(flags, 16)),
        )
        if not known.is_valid or not known.trace_flags.sampled:
            return None
        return trace.set_span_in_context(trace.NonRecordingSpan(known))


class TracedRouter(Router):
    """A router that records the spans of its publications."""

    tracing: Tracing

    def handle(self, request: Input, now: float) -> list[Effect]:
        """As `Router.handle`."""
        begin_ns = time.time_ns()
        effects = super().handle(request, now)
        if isinstance(request, ClientPublish | Receive):
            self.tracing.routed(request, begin_ns)
        return effects


def router_of(
    endpoint: str | None,
    name: str,
    protocol: Protocol,
    engines: Engines,
    incarnation: int,
) -> tuple[Router, Tracing | None]:
    """A broker's router, and its spans where there is a collector."""
    if endpoint is None:
        return Router(name, protocol, engines, incarnation), None
    router = TracedRouter(name, protocol, engines, incarnation)
    router.tracing = Tracing(endpoint, name)
    return router, router.tracing


def published(request: Input) -> Publication | None:
    """The publication in an input, or `None`."""
    if isinstance(request, ClientPublish):
        return request.publication
    if isinstance(request, Receive):
        inner = carried(request.message)
        return inner.publication if isinstance(inner, Publish) else None
    return None


def _operation(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"messaging.system": "sapwood", "messaging.operation.name": name, **about}

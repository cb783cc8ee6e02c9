"""A broker's state as metrics, in the format of Prometheus.

Everything is read at each request (`sapwood.broker.status`), so nothing is counted twice, and
publications do not pay for it. Names follow Prometheus' conventions: base units, `_total` for
counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from sapwood.wire.status import LinkStatus, StatusReply

EVENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "publications": "Publications accepted from clients of this broker.",
        "deliveries": "Deliveries sent to clients of this broker.",
        "connections": "Connections opened, by either side.",
        "slow_consumers": "Clients disconnected because they did not read.",
        "faulty_peers": "Connections ended because the peer broke the protocol.",
        "links_lost": "Links that went down.",
        "publishers_held": "Times that a publisher was not read because publications piled up.",
        "durable_dropped": "Deliveries that bounds of mailboxes let go.",
        "expired": "Deliveries not made, or publications not passed on: a time to live was over.",
    }
)
"""The help text of each counter of `sapwood.broker.counters`."""


class BrokerCollector(Collector):
    """Metrics of one broker, whose state a function returns."""

    def __init__(self, state: Callable[[], StatusReply]) -> None:
        self._state = state

    def describe(self) -> list[Metric]:
        """No metrics ahead of time: the broker need not be started yet."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The metrics now."""
        state = self._state()
        yield _info(state)
        yield GaugeMetricFamily("sapwood_clients", "Clients connected now.", state.clients)
        yield GaugeMetricFamily(
            "sapwood_uptime_seconds", "Seconds since the broker began.", state.uptime_s
        )
        for name, text in EVENTS.items():
            yield CounterMetricFamily(f"sapwood_{name}", text, state.events[name])
        yield _labeled(
            CounterMetricFamily(
                "sapwood_routing_events", "What the router counts.", labels=["event"]
            ),
            state.routed,
        )
        yield _labeled(
            GaugeMetricFamily("sapwood_table_entries", "Entries of tables.", labels=["table"]),
            state.tables,
        )
        yield from _links(state.links)
        if state.store is not None:
            kept = GaugeMetricFamily(
                "sapwood_journal_publications", "Publications kept in the journal.", labels=[]
            )
            kept.add_metric([], state.store.end - state.store.first)
            yield kept


def registry_of(state: Callable[[], StatusReply]) -> CollectorRegistry:
    """The metrics of a broker, of its process and of Python."""
    registry = CollectorRegistry()
    registry.register(BrokerCollector(state))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def _info(state: StatusReply) -> Metric:
    records, documents = state.engines
    labels = {
        "broker": state.broker,
        "version": state.version,
        "protocol": state.routing,
        "records_engine": records,
        "documents_engine": documents,
        "kernels": " ".join(state.kernels),
    }
    info = GaugeMetricFamily("sapwood_info", "What runs here; always 1.", labels=list(labels))
    info.add_metric(list(labels.values()), 1)
    return info


def _labeled(
    family: CounterMetricFamily | GaugeMetricFamily, values: dict[str, int]
) -> CounterMetricFamily | GaugeMetricFamily:
    for name, value in values.items():
        family.add_metric([name], value)
    return family


def _links(links: tuple[LinkStatus, ...]) -> Iterator[Metric]:
    """One sample for each link; unknown values have none."""
    up = GaugeMetricFamily("sapwood_link_up", "Whether a link is up.", labels=["link"])
    delay = GaugeMetricFamily(
        "sapwood_link_delay_seconds",
        "Bounds of the delay of the last message that came over a link.",
        labels=["link", "bound"],
    )
    waiting = GaugeMetricFamily(
        "sapwood_link_waiting_bytes", "Bytes that wait for a neighbor.", labels=["link"]
    )
    unconfirmed = GaugeMetricFamily(
        "sapwood_link_unconfirmed_entries",
        "Table entries that a neighbor was told and has not confirmed.",
        labels=["link"],
    )
    behind = GaugeMetricFamily(
        "sapwood_link_behind", "Whether a neighbor is not told everything yet.", labels=["link"]
    )
    for link in links:
        up.add_metric([link.name], link.up)
        waiting.add_metric([link.name], link.waiting_bytes)
        behind.add_metric([link.name], link.behind)
        for bound, seconds in (("lower", link.delay_min_s), ("upper", link.delay_max_s)):
            if seconds is not None:
                delay.add_metric([link.name, bound], seconds)
        if link.unconfirmed is not None:
            unconfirmed.add_metric([link.name], link.unconfirmed)
    yield from (up, delay, waiting, unconfirmed, behind)

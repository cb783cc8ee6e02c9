"""The dashboard in `packaging/` shows metrics that a broker has."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from prometheus_client import generate_latest

from sapwood.broker.counters import Counters
from sapwood.broker.http.metrics import EVENTS, registry_of
from sapwood.wire.status import LinkStatus, StatusReply, StoreStatus

DASHBOARD = Path(__file__).parents[3] / "packaging" / "grafana-dashboard.json"

LINK = LinkStatus("rim", True, 0.001, 0.002, waiting_bytes=0, unconfirmed=0)

STATE = StatusReply(
    broker="hub",
    version="1",
    routing="covering",
    uptime_s=1.0,
    clients=2,
    links=(LINK,),
    tables={"subscriptions": 3},
    events=dict.fromkeys(EVENTS, 0),
    routed={"matches": 1},
    store=StoreStatus("fsync", 0, 10),
    engines=("auto", "auto"),
    kernels=(),
)


def test_the_dashboard_shows_metrics_that_there_are() -> None:
    exposed = generate_latest(registry_of(lambda: STATE)).decode()
    known = set(re.findall(r"^(\w+)", exposed, re.MULTILINE))
    board = json.loads(DASHBOARD.read_text("utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    shown = {name for text in expressions for name in re.findall(r"(?:sapwood|process)_\w+", text)}
    assert len(shown) > 15
    assert shown <= known, shown - known


def test_the_dashboard_shows_every_counter_of_a_broker() -> None:
    text = DASHBOARD.read_text("utf-8")
    assert set(EVENTS) <= {field.name for field in fields(Counters)}
    assert not [name for name in EVENTS if f"sapwood_{name}_total" not in text]


def test_panels_of_the_dashboard_follow_its_variables_and_do_not_overlap() -> None:
    board = json.loads(DASHBOARD.read_text("utf-8"))
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (panel["gridPos"]["x"] + dx, panel["gridPos"]["y"] + dy)
        for panel in panels
        for dx in range(panel["gridPos"]["w"])
        for dy in range(panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert all(0 <= x < 24 for x, _ in places)
    texts = [target["expr"] for panel in panels for target in panel["targets"]]
    assert all("$job" in text and "$instance" in text for text in texts)

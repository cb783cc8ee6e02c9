"""Real brokers and clients that are killed and cut off: nothing is lost, nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood_lab.chaos.campaign import Campaign, Settings
from sapwood_lab.chaos.plan import Shape, draw

LINE = Shape(2, ((0, 1),))
CIRCLE = Shape(3, ((0, 1), (1, 2), (2, 0)))


@pytest.mark.network
@pytest.mark.parametrize("shape", [LINE, CIRCLE], ids=["line", "circle"])
async def test_a_small_campaign_is_survived(shape: Shape, tmp_path: Path) -> None:
    settings = Settings(tmp_path, shape, 300, seconds=2.0, publishers=1, durable=1, plain=1)
    faults = draw(3, shape, kills=2, seconds=2.0, publishers=1, subscribers=2)
    campaign = Campaign(settings)
    verdict = await campaign.run(faults)
    assert verdict.is_right, verdict
    assert verdict.due > 0
    assert campaign.done["kill broker"] == campaign.done["kill at point"] == 1
    starts = sum(broker.starts for broker in campaign.brokers)
    assert starts >= shape.brokers + 2

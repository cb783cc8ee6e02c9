"""Bounds of the strategies that keep an overlay going when links and routers fail."""

from __future__ import annotations

from typing import Final

# Failure detectors -----------------------------------------------------------------------------

SUSPICION_TIMEOUT_S: Final = 10.0
"""Seconds without a sign of life, or without a link, until a router counts as failed for good and
its neighbors go elsewhere. A broker is started again in less; precedent: Kafka's
broker.session.timeout.ms, 9 s."""

PHI_THRESHOLD: Final = 8.0
"""Suspicion, as -log10 of the chance that it is wrong, from which a router counts as failed.
Precedent: Akka and Cassandra 8."""

PHI_THRESHOLD_MAX: Final = 100.0
"""The largest threshold that may be configured: beyond, floats do not distinguish chances from 0.
"""

PHI_INTERVALS_MAX: Final = 200
"""Intervals between signs of life that are remembered of each neighbor. Precedent: Akka and the
authors 1,000; fewer follow a change of load sooner."""

PHI_DEVIATION_MIN_S: Final = 0.1
"""The least deviation of intervals, seconds: perfectly regular signs of life would leave no chance
for any delay. Precedent: Akka 100 ms."""

# Redundant paths -------------------------------------------------------------------------------

REDUNDANT_PATHS_MAX: Final = 8
"""Paths that every publication takes under `redundant:K`. Each costs tables and bandwidth of its
own, and few overlays have more that share nothing. Precedent: three copies are what stores keep."""

REDUNDANT_HELD_MAX: Final = 65_536
"""Publications of one source that a router holds because they came on one path, while earlier ones
may still come on another. Beyond, it waits no longer: a publication that comes late is then
dropped, rather than delivered twice or out of order. Precedent: MESH_HELD_MAX."""

"""The targets by name: every place where a broker or a command reads what others have written."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood_lab.fuzz.driver import Target


def targets() -> Sequence[Target]:
    """All of them, in the order in which they are reported."""
    from sapwood_lab.fuzz.targets import (
        access,
        configuration,
        contents,
        filters,
        frames,
        gateway,
        mqtt,
    )

    return [
        *frames.targets(),
        *access.targets(),
        *mqtt.targets(),
        *gateway.targets(),
        *filters.targets(),
        *contents.targets(),
        *configuration.targets(),
    ]

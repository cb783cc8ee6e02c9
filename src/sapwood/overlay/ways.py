"""The shortest way between two routers, where a function gives the neighbors of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def way_between(
    start: str, end: str, neighbors: Callable[[str], Iterable[str]]
) -> tuple[str, ...] | None:
    """The shortest way from one router to another, both included; `None` if there is none."""
    came: dict[str, str] = {start: start}
    reached = [start]
    for router in reached:
        for neighbor in neighbors(router):
            if neighbor not in came:
                came[neighbor] = router
                reached.append(neighbor)
    if end not in came:
        return None
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path))

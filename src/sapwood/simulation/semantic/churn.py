"""Peers that come and go between publications, from a decoded TOML file.

::

    [[churn]]
    after = 100            # publications before it happens
    crash = 0.2            # share of the peers that crash, all at once
    return = 0.5           # share of the gone peers that join again, one after the other

    [[churn]]
    after = 200
    leave = 0.1            # share that leaves in an orderly way, one after the other
    departure = "full"     # or "basic", the default
"""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.overlay.fields import Fields
from sapwood.overlay.semantic.hierarchy.options import Departure

_KEYS = ("after", "leave", "crash", "return", "departure")


@dataclass(frozen=True, slots=True)
class Churn:
    """The churn after `after` publications: shares of peers that leave, crash, and return."""

    after: int
    leave: float = 0.0
    crash: float = 0.0
    back: float = 0.0
    departure: Departure = Departure.BASIC


def decode_churn(document: object) -> tuple[Churn, ...]:
    """The churn that a decoded TOML file describes, in the order of time.

    Raises `InputError` for anything else.
    """
    fields = Fields("the file of churn", document, ("churn",))
    tables = enumerate(fields.tables("churn"), 1)
    found = [_decode(Fields(f"churn {number}", table, _KEYS)) for number, table in tables]
    return tuple(sorted(found, key=lambda one: one.after))


def _decode(fields: Fields) -> Churn:
    after = fields.integer("after")
    if after < 0:
        raise fields.error("after", "a number of publications, zero or more", after)
    shares = {}
    for key in ("leave", "crash", "return"):
        shares[key] = fields.number(key, 0.0, what="a share")
        if shares[key] > 1:
            raise fields.error(key, "a share of the peers, at most 1", shares[key])
    departures = {one.value: one for one in Departure}
    departure = fields.text("departure", Departure.BASIC.value)
    if departure not in departures:
        raise fields.error("departure", "basic or full", departure)
    leave, crash, back = shares.values()
    return Churn(after, leave, crash, back, departures[departure])

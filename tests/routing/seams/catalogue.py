"""The product's catalogues with the strategies of the tests beside them."""

from __future__ import annotations

from typing import Final

from sapwood.routing.protocols import FORWARDINGS, UPKEEPS, Catalogues
from tests.routing.seams.beats import BEATS
from tests.routing.seams.keys import KEYS
from tests.routing.seams.logged import LOGGED

CATALOGUES: Final = Catalogues(
    forwardings={**FORWARDINGS, KEYS.name: KEYS},
    upkeeps={**UPKEEPS, BEATS.name: BEATS, LOGGED.name: LOGGED},
)

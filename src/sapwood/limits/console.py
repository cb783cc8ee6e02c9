"""Bounds of the console: the load that its viewers may put on a broker."""

from __future__ import annotations

from typing import Final

CONSOLE_STREAMS_MAX: Final = 32
"""Pages that follow the broker's state at a time, and filters that are tried: some ten people with
a page or two. Each holds a connection and an open file."""

CONSOLE_STATUS_S: Final = 1.0
"""Seconds between two reads of the broker's state, made once for all viewers: a millisecond, or
less."""

CONSOLE_OVERLAY_S: Final = 3.0
"""Seconds between two requests to the other brokers, a frame to and fro each."""

CONSOLE_BROKERS_MAX: Final = 64
"""Other brokers whose state is requested: a drawing of more is not readable."""

CONSOLE_ASK_S: Final = 2.0
"""Seconds that another broker has to answer. One that does not is asked again after
`CONSOLE_SILENT_S`, so that it keeps the others waiting once."""

CONSOLE_SILENT_S: Final = 30.0
"""Seconds for which a broker that did not answer is not asked again."""

CONSOLE_ROWS: Final = 50
"""Rows of a table in one answer, some 60 us each: a page that a person reads."""

CONSOLE_ROWS_MAX: Final = 200
"""Rows that may be requested at once."""

CONSOLE_LOOKED_MAX: Final = 10_000
"""Entries that are compared with a search for one answer, a microsecond each: the next request
continues from there."""

CONSOLE_WATCHED_MAX: Final = 400
"""Subscriptions whose hits are counted, the last ones shown: two full pages for two people."""

CONSOLE_TEXT_CHARS: Final = 400
"""Characters of a filter, or of a publication, that are shown in a row; the rest is cut off."""

CONSOLE_TRIAL_S: Final = 0.5
"""Seconds between two reports of the matches of a filter that is tried."""

CONSOLE_TRIAL_SHOWN: Final = 12
"""Publications in such a report, the last ones: more would pass too fast to be read."""

CONSOLE_TRIAL_MATCHES_MAX: Final = 100_000
"""Publications after which the trial of a filter ends, some 20 us each: a forgotten page with a
filter that accepts everything does not slow the broker down for days."""

CONSOLE_BODY_BYTES_MAX: Final = 262_144
"""Bytes of a request for an explanation: a publication and a filter."""

"""Bounds of the console: what one person who looks may cost a broker."""

from __future__ import annotations

from typing import Final

CONSOLE_STREAMS_MAX: Final = 32
"""Pages that are told of the broker's state at a time, and filters that are tried: some ten people
with a page or two. Each holds a connection and an open file."""

CONSOLE_STATUS_S: Final = 1.0
"""Seconds between two looks at the broker's state, made once for all who look: a millisecond, or
less."""

CONSOLE_OVERLAY_S: Final = 3.0
"""Seconds between two looks at the other brokers, a frame to and fro each."""

CONSOLE_BROKERS_MAX: Final = 64
"""Other brokers that are asked for their state: more is no drawing that anybody reads."""

CONSOLE_ASK_S: Final = 2.0
"""Seconds that another broker has to answer. One that does not is asked again when
`CONSOLE_SILENT_S` have gone, so that it keeps the others waiting once."""

CONSOLE_SILENT_S: Final = 30.0
"""Seconds for which a broker is left alone that did not answer."""

CONSOLE_ROWS: Final = 50
"""Rows of a table that are answered at once, some 60 us each: a page that a person reads."""

CONSOLE_ROWS_MAX: Final = 200
"""Rows that can be asked for at once."""

CONSOLE_LOOKED_MAX: Final = 10_000
"""Entries that are compared with what is looked for, for one answer, a microsecond each: who looks
goes on from there."""

CONSOLE_WATCHED_MAX: Final = 400
"""Subscriptions whose hits are counted, those that were shown last: two full pages for two people.
"""

CONSOLE_TEXT_CHARS: Final = 400
"""Characters of a filter, or of a publication, that are shown in a row; the rest is cut off."""

CONSOLE_TRIAL_S: Final = 0.5
"""Seconds between two reports of what a filter that is tried has matched."""

CONSOLE_TRIAL_SHOWN: Final = 12
"""Publications in such a report, the last ones: more goes by too fast to be read."""

CONSOLE_TRIAL_MATCHES_MAX: Final = 100_000
"""Publications after which a filter is tried no longer, some 20 us each: who forgets a page with a
filter that everything meets does not slow the broker down for days."""

CONSOLE_BODY_BYTES_MAX: Final = 262_144
"""Bytes of a question to be explained: a publication and a filter."""

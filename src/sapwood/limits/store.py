"""Bounds of what a broker keeps: its log, its state file, and those who wait for its disk."""

from __future__ import annotations

from typing import Final

DURABILITY_INTERVAL_MS_MAX: Final = 60_000
"""Milliseconds between two times that a broker makes its log durable, at most: what a machine that
loses power may lose. Precedent: PostgreSQL's `wal_writer_delay` ends at 10 s, JetStream's
`sync_interval` begins at two minutes."""

STORE_CHANGES_MAX: Final = 4_096
"""Records, notes and rows that a broker's log holds and its state file does not yet, about: what is
applied again when a broker starts that was killed, a few milliseconds."""

STORE_APPLY_S: Final = 1.0
"""Seconds after which what the log holds is applied to the state file, if there is less of it."""

CHECKPOINT_BYTES_MIN: Final = 1_048_576
"""Bytes of state records, 1 MiB, from which on a broker makes a checkpoint of them: ten thousand
subscriptions or so, which are routed again in a fifth of a second when it starts. Where the last
checkpoint is larger, half its bytes."""

CHECKPOINT_ENGINES_MIN: Final = 8_192
"""Filters from which on the engines that match publications with them are saved beside a
checkpoint: fewer are built in less than a tenth of a second when a broker starts, and reading files
takes some of that."""

CHECKPOINT_POLL_S: Final = 0.5
"""Seconds after which a broker looks whether a checkpoint that is being made is there."""

STORE_RETRY_S: Final = 0.5
"""Seconds until a broker whose disk is full looks whether there is room again."""

STORE_PENDING_BYTES_MAX: Final = 67_108_864
"""Bytes that wait for the disk, 64 MiB, publications to be written and output that stands behind
them, at which a broker no longer reads those who publish: a second of what a slow disk takes."""

STORE_RESERVE_BYTES: Final = 16_777_216
"""Bytes of room on the disk, 16 MiB, below which a broker refuses publications: what it has
accepted and what it has to note itself still finds a place."""

SESSION_RETURN_S: Final = 300.0
"""Seconds that a broker which has started again waits for the clients of its earlier life, before
their subscriptions go. Precedent: MQTT 5's session expiry is minutes in most deployments."""

RESTATE_S: Final = 10.0
"""Seconds that a program has, which goes on with the session of an earlier run, from its connection
until what that run had stated and it has not is withdrawn. Programs subscribe within their first
second; who takes longer subscribes as for the first time."""

STORE_ROOM_BYTES: Final = 1_048_576
STORE_ROOM_S: Final = 0.1
"""Bytes that are committed, and seconds that pass, until a broker looks again whether the disk has
room: a sixteenth of the reserve, and what others fill in a moment. Looking takes a system call."""

STORE_WRITE_S: Final = 0.005
STORE_REST: Final = 10
"""Seconds, a turn, that a broker's loop may wait until the system has taken what it writes to the
log; and how many times as long as it took a thread writes instead when it was more, as the system
makes those wait who write more than its disk takes: so it costs the loop a tenth of its time."""

STORE_SYNCS_MAX: Final = 2
"""Commits that a broker's disk makes durable at a time, at most: while one waits for the disk the
next is on its way there, and those between them gather."""
